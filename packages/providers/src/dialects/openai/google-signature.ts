import { isJsonObject, type Json, type JsonObject, textOf } from "../../json/lossless.ts";

/** `extra_content`, where Google's own compatible API has the signature of a call or a message and clients know to give it back (BH-26). */
export function writeGoogle(signature: string | undefined): JsonObject | undefined {
  return signature === undefined ? undefined : { google: { thought_signature: signature } };
}

/** The inverse of {@link writeGoogle}. */
export function readGoogle(extraContent: Json | undefined): string | undefined {
  const google = isJsonObject(extraContent) ? extraContent["google"] : undefined;
  return (isJsonObject(google) ? textOf(google["thought_signature"]) : undefined) || undefined;
}
