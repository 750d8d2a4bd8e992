import type { FamilyName } from "../../src/families/capabilities.ts";
import type { Endpoint } from "@switchyard/core";
import { TranslationFault } from "../../src/translate/fault.ts";
import { planOf } from "./exchange.ts";

const HI = { role: "user", content: "hi" };

/** The refusal of a request of one message and these fields. */
export function faultOf(endpoint: Endpoint, family: FamilyName, body: object): TranslationFault {
  try {
    planOf(endpoint, family, { model: "g", messages: [HI], ...body });
  } catch (error) {
    if (error instanceof TranslationFault) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
