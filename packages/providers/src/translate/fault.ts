/**
 * Why a request can't be put into another API's words (P2): a 400 with this code, whose `param` names the field. `invalid_request`: it
 * is wrong in the caller's own API too. `not_translatable`: the target has nothing that means it.
 */
export class TranslationFault extends Error {
  override readonly name = "TranslationFault";
  readonly code: "invalid_request" | "not_translatable";
  /** Path of the field, as `messages.0.content.1`. */
  readonly param: string;

  constructor(code: "invalid_request" | "not_translatable", param: string, message: string) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

/** A field whose value no API of its dialect would take. */
export function invalidField(path: string, problem: string): TranslationFault {
  return new TranslationFault("invalid_request", path, `'${path}' ${problem}.`);
}

/** The usual reason of {@link notTranslatable}. */
export const NO_COUNTERPART = "it has no counterpart there";

/**
 * A field that the target can't express. The token at its start is what agents look for to do without it (field notes 5.7): `capability`
 * where they have a name of their own for it.
 */
export function notTranslatable(path: string, reason: string, capability?: string): TranslationFault {
  const named = capability === undefined ? "" : `${capability}, `;
  return new TranslationFault(
    "not_translatable",
    path,
    `capability_rejected: ${named}'${path}' can't be translated for the provider that serves this model: ${reason}.`,
  );
}

/** The request goes on with a conversation that another account has compacted, which only that account can read (BH-31): a 503. */
export class ElsewhereFault extends Error {
  override readonly name = "ElsewhereFault";

  constructor() {
    super("the account that compacted this conversation is not available");
  }
}
