import type { MethodContract } from "../contract-case.ts";
import { applyConfigContract, getConfigContract } from "./config.ts";
import {
  benchContract,
  listBenchesContract,
  reportOutcomesContract,
  unbenchContract,
  watchBenchesContract,
} from "./health-state.ts";
import { inferContract } from "./inference.ts";
import {
  checkContract,
  listContract,
  reflectionAlphaContract,
  reflectionContract,
  watchContract,
} from "./platform.ts";
import { decideContract, explainContract, listGroupsContract } from "./routing.ts";
import { chatContract, streamChatContract } from "./typed.ts";
import { embedContract } from "./typed-embed.ts";

/** One contract per RPC of the product. */
export const CONTRACTS: readonly MethodContract[] = [
  decideContract,
  explainContract,
  listGroupsContract,
  inferContract,
  chatContract,
  streamChatContract,
  embedContract,
  listBenchesContract,
  watchBenchesContract,
  benchContract,
  unbenchContract,
  reportOutcomesContract,
  getConfigContract,
  applyConfigContract,
  checkContract,
  listContract,
  watchContract,
  reflectionContract,
  reflectionAlphaContract,
];
