import type { DescMethod } from "@bufbuild/protobuf";
import { ErrorInfoSchema } from "@switchyard/proto/google/rpc/error_details";
import { CallContext, ConnectError } from "@switchyard/rpc";
import { expect } from "vitest";
import type { Stage } from "./stage.ts";
import type { Clients } from "./transports.ts";

/** What holds of one RPC, however it is called. */
export interface ContractCase {
  readonly title: string;
  /** Where it holds; everywhere when left out. */
  readonly on?: "wire" | "reflection";
  run(clients: Clients, stage: Stage): Promise<void>;
}

/** The cases of one method. */
export interface MethodContract {
  readonly method: DescMethod;
  readonly cases: readonly ContractCase[];
}

/** A call with a key; without one when the key is empty. */
export function as(key: string, deadline?: number): CallContext {
  return new CallContext({ headers: key === "" ? {} : { authorization: `Bearer ${key}` }, deadline });
}

/** The error of work that must fail; `start` may throw at once. */
export async function caught(start: () => unknown): Promise<ConnectError> {
  try {
    await start();
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** The ErrorInfo that every refusal and fault of the product carries (contracts section 4). */
export function infoOf(error: ConnectError): {
  reason: string;
  domain: string;
  metadata: Record<string, string>;
} {
  const [info] = error.findDetails(ErrorInfoSchema);
  if (info === undefined) throw new Error(`no ErrorInfo: ${error.message}`);
  const { reason, domain, metadata } = info;
  return { reason, domain, metadata };
}

/** Expects an error of the product. */
export function expectInfo(error: ConnectError, reason: string, status: number): void {
  expect(infoOf(error)).toMatchObject({ reason, domain: "switchyard", metadata: { status: String(status) } });
}
