import { FamilyError } from "../families/family.ts";
import type { ExchangeInput, ExchangePlan } from "./exchange.ts";
import { CALLER_FORMATS, PROVIDER_FORMATS } from "./formats.ts";
import { planPassThrough } from "./plan-pass-through.ts";
import { planTranslation } from "./plan-translation.ts";

/**
 * Plans one attempt: bytes that pass through where the family serves the endpoint itself (P1), else a translation (P2). Throws a
 * {@link TranslationFault} for a request that can't be said there, an {@link ElsewhereFault} for one that another account alone can go on with, and a {@link FamilyError} for one that should not have come here.
 */
export function planExchange(input: ExchangeInput): ExchangePlan {
  const { facts, family } = input;
  const wire = family.wireOf({ endpoint: facts.endpoint, account: input.account, model: input.model });
  if (wire === facts.endpoint) return planPassThrough(input);
  const caller = CALLER_FORMATS[facts.endpoint];
  const provider = PROVIDER_FORMATS[wire];
  if (caller === undefined || provider === undefined) {
    throw new FamilyError(`${facts.endpoint} can't be translated for ${family.name}`);
  }
  return planTranslation(input, wire, caller, provider);
}
