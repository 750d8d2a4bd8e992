import { isFieldValue } from "@switchyard/http1";

/** Gets what a credential stands for, a token or a key that ends, and keeps it while it is good. */
export interface TokenSource {
  /** None is at hand, and the last try to get one failed. */
  readonly isFailing: boolean;
  /** Why the last try failed, in a word or a status that holds nothing secret; undefined where it did not. */
  readonly failure: string | undefined;
  /** The good token at hand; where it nears its end, another is got meanwhile. Undefined: `next` has to be awaited. */
  current(): string | undefined;
  /** The next token; undefined when none can be got. Never rejects, and lasts no longer than {@link LONGEST_MS}. Asked for by many at once, it is got once. */
  next(): Promise<string | undefined>;
  /** A provider refused this token: another is got, unless it is new. */
  refused(token: string): void;
  /** Ends what runs; from now on there is no next token. */
  close(): void;
}

/** A token as it was got. */
export interface Issued {
  readonly token: string;
  /** Epoch ms; undefined where it does not end, or nobody says when. */
  readonly expires: number | undefined;
}

/** Gets a token; rejects where there is none. Ends its requests when told. */
export type AskForToken = (signal: AbortSignal) => Promise<Issued>;

/** Longest that a single request for a token may last. */
export const REQUEST_MS = 10_000;
/** Longest that anyone waits for a token. */
const LONGEST_MS = 15_000;
/** Another token is got this long before the end of the old one, or in the middle of a shorter life. */
const EARLY_MS = 300_000;
/** A token must reach the provider while it is good. */
const MARGIN_MS = 10_000;
/** After a failure nobody asks again for so long. */
const REST_MS = 2_000;
/** What has no end may have been replaced where it came from: it is read again after so long. */
const AGAIN_MS = 60_000;
/** A token that is refused is replaced if it is older: a new one would be refused too. */
const NEW_MS = 30_000;

/** Keeps what `ask` gets. */
export function createTokenSource(ask: AskForToken, now: () => number): TokenSource {
  return new KeptToken(ask, now);
}

class KeptToken implements TokenSource {
  failure: string | undefined;
  readonly #ask: AskForToken;
  readonly #now: () => number;
  #token: string | undefined;
  #gotAt = 0;
  #renewAt = 0;
  #goodUntil = 0;
  #restsUntil = 0;
  #pending: Promise<string | undefined> | undefined;
  readonly #closed = new AbortController();

  constructor(ask: AskForToken, now: () => number) {
    this.#ask = ask;
    this.#now = now;
  }

  get isFailing(): boolean {
    return this.failure !== undefined && !this.#isGood(this.#now());
  }

  current(): string | undefined {
    const now = this.#now();
    if (!this.#isGood(now)) return undefined;
    if (now >= this.#renewAt) void this.next();
    return this.#token;
  }

  next(): Promise<string | undefined> {
    const now = this.#now();
    if (this.#pending === undefined) {
      const rest = this.#restsUntil - now;
      // One that is longer is of a clock that was set back since.
      const rests = rest > 0 && rest <= REST_MS;
      if (rests || this.#closed.signal.aborted) return Promise.resolve(undefined);
      this.#pending = this.#get(now).finally(() => {
        this.#pending = undefined;
      });
    }
    return this.#pending;
  }

  refused(token: string): void {
    const age = this.#now() - this.#gotAt;
    // A clock that was set back tells nothing of its age, nor of its end.
    if (token === this.#token && (age >= NEW_MS || age < 0)) this.#goodUntil = 0;
  }

  close(): void {
    this.#closed.abort();
  }

  #isGood(now: number): boolean {
    return this.#token !== undefined && now < this.#goodUntil;
  }

  async #get(now: number): Promise<string | undefined> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LONGEST_MS);
    const ends = AbortSignal.any([late.signal, this.#closed.signal]);
    try {
      const { token: given, expires } = await Promise.race([this.#ask(ends), aborted(ends)]);
      const token = given.trim();
      if (token === "") throw new TokenError("an empty token");
      if (!isFieldValue(token)) throw new TokenError("a token that no header can carry");
      const life = expires === undefined ? undefined : expires - now;
      this.#token = token;
      this.#gotAt = now;
      this.#renewAt = now + (life === undefined ? AGAIN_MS : Math.max(life - EARLY_MS, life / 2));
      this.#goodUntil = expires === undefined ? Number.POSITIVE_INFINITY : expires - MARGIN_MS;
      this.failure = undefined;
      return token;
    } catch (error) {
      this.failure = wordOf(error);
      this.#restsUntil = this.#now() + REST_MS;
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new TokenError("no answer in time")), { once: true });
  });
}

/** Why there is no token; its message holds nothing secret. */
export class TokenError extends Error {
  override readonly name = "TokenError";
}

/** OAuth's own words for failures (RFC 6749, 5.2 and 4.1.2.1). */
const OAUTH_ERRORS = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "access_denied",
  "server_error",
  "temporarily_unavailable",
]);

const WORDS_OF_NAMES: ReadonlyMap<unknown, string> = new Map([
  ["CredentialsProviderError", "no credentials found"],
  ["TimeoutError", "no answer in time"],
]);

/** A token server's error in OAuth's words; anything else that it says might repeat a secret. */
export function oauthError(answer: unknown): string | undefined {
  const error = fieldOf(answer, "error");
  return typeof error === "string" && OAUTH_ERRORS.has(error) ? error : undefined;
}

/** What libraries throw holds requests and answers, and so secrets: only words of fixed kinds are told. */
function wordOf(error: unknown): string {
  if (error instanceof TokenError) return error.message;
  const oauth = oauthError(fieldOf(fieldOf(error, "response"), "data"));
  const code = [error, fieldOf(error, "cause")]
    .map((one) => fieldOf(one, "code"))
    .find((one) => typeof one === "string" && /^E[A-Z_]{2,30}$/u.test(one));
  const status = fieldOf(fieldOf(error, "response"), "status");
  if (oauth !== undefined) return oauth;
  if (typeof code === "string") return code;
  if (typeof status === "number") return `status ${status}`;
  return WORDS_OF_NAMES.get(fieldOf(error, "name")) ?? "no token";
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
