import { describeReference } from "@switchyard/config";
import type { ProviderAccount, ResolvedSecret } from "@switchyard/config";
import { FAMILIES } from "@switchyard/providers";
import type { Family } from "@switchyard/providers";
import { createAwsKeys, createEntraTokens, createGoogleTokens } from "@switchyard/upstream";
import type { TokenSource } from "@switchyard/upstream";

/** What an account sends in place of its credential, and what it was made for. */
export interface AccountTokens {
  readonly source: TokenSource;
  /** Equal for accounts that may go on with it. Holds the secret: not for logs. */
  readonly of: string;
}

/** Whose tokens an account sends. */
type TokenKind = NonNullable<Family["tokens"]>;

/** Opens what gets the tokens that a credential stands for, or (undefined) that the machine has. */
export type OpenTokens = (
  kind: TokenKind,
  credential: string | undefined,
  account: Pick<ProviderAccount, "baseUrl" | "region">,
) => TokenSource;

/** From the clouds themselves. */
export const openCloudTokens: OpenTokens = (kind, credential, { baseUrl, region }) => {
  if (kind === "google") return createGoogleTokens(credential);
  return kind === "aws" ? createAwsKeys(region) : createEntraTokens(credential, baseUrl);
};

/**
 * The tokens of an account that sends no secret of its own: its credential stands for them, or the machine has them. Undefined where the
 * secret is sent, or is missing. Those before are kept while credential and account stay, with the token at hand.
 */
export function tokensOf(
  facts: ProviderAccount,
  secret: ResolvedSecret,
  before: AccountTokens | undefined,
  open: OpenTokens,
): AccountTokens | undefined {
  const kind = FAMILIES.get(facts.family)?.tokens;
  if (kind === undefined || secret.kind === "missing") return undefined;
  const credential = secret.kind === "secret" ? secret.secret : undefined;
  // A key of AWS is JSON, too, and signs by itself.
  if (credential !== undefined && (kind === "aws" || !credential.startsWith("{"))) return undefined;
  const of = JSON.stringify([kind, credential, facts.baseUrl, facts.region]);
  return before?.of === of ? before : { source: open(kind, credential, facts), of };
}

/** What a log tells of an account that has no token; undefined where it has one, or may. */
export function missingToken(
  { credential }: ProviderAccount,
  tokens: AccountTokens | undefined,
): string | undefined {
  if (tokens?.source.isFailing !== true) return undefined;
  const whose = credential.from === "none" ? "this machine" : describeReference(credential);
  return `a token of ${whose}: ${tokens.source.failure ?? "none"}`;
}
