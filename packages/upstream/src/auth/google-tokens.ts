import type { AuthClient } from "google-auth-library";

/** Gets tokens that a credential stands for, and keeps them while they are good. */
export interface TokenSource {
  /** The last try to get one failed. */
  readonly isFailing: boolean;
  /** The good token at hand; where it nears its end, another is got meanwhile. Undefined: `next` has to be awaited. */
  current(): string | undefined;
  /** The next token; undefined when none can be got. Never rejects, and lasts no longer than {@link LONGEST_MS}. Asked for by many at once, it is got once. */
  next(): Promise<string | undefined>;
}

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
/** Where tokens come from if a service account does not say. */
const TOKEN_URI = "https://oauth2.googleapis.com/token";
const REQUEST_MS = 10_000;
/** Longest that anyone waits for a token. */
const LONGEST_MS = 15_000;
/** Google's library gets another token this long before the end of the old one. */
const EARLY_MS = 300_000;
/** A token must reach the provider while it is good. */
const MARGIN_MS = 10_000;
/** After a failure nobody asks again for so long. */
const REST_MS = 2_000;

/**
 * Tokens of a Google credential: the JSON of a service account, whose `token_uri` is used, of a user, or of a workload identity
 * (`external_account`); undefined for what the machine has (Application Default Credentials). Loads that library when the first token is asked for.
 */
export function createGoogleTokens(
  credential: string | undefined,
  now: () => number = Date.now,
): TokenSource {
  return new GoogleTokens(credential, now);
}

class GoogleTokens implements TokenSource {
  isFailing = false;
  readonly #credential: string | undefined;
  readonly #now: () => number;
  #client: Promise<AuthClient> | undefined;
  #token: string | undefined;
  #expires = 0;
  #restsUntil = 0;
  #pending: Promise<string | undefined> | undefined;

  constructor(credential: string | undefined, now: () => number) {
    this.#credential = credential;
    this.#now = now;
  }

  current(): string | undefined {
    const now = this.#now();
    if (this.#token === undefined || now >= this.#expires - MARGIN_MS) return undefined;
    if (now >= this.#expires - EARLY_MS) void this.next();
    return this.#token;
  }

  next(): Promise<string | undefined> {
    const now = this.#now();
    if (this.#pending === undefined) {
      if (now < this.#restsUntil) return Promise.resolve(undefined);
      this.#pending = this.#get(now).finally(() => {
        this.#pending = undefined;
      });
    }
    return this.#pending;
  }

  async #get(now: number): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, LONGEST_MS, undefined);
    });
    const got = await Promise.race([this.#ask().catch(() => undefined), late]);
    clearTimeout(timer);
    this.isFailing = got === undefined;
    if (got === undefined) {
      this.#restsUntil = this.#now() + REST_MS;
      return undefined;
    }
    this.#token = got.token;
    this.#expires = got.expires ?? now + EARLY_MS;
    return got.token;
  }

  async #ask(): Promise<{ readonly token: string; readonly expires: number | undefined } | undefined> {
    this.#client ??= openClient(this.#credential);
    try {
      const client = await this.#client;
      const { token } = await client.getAccessToken();
      const expires = client.credentials.expiry_date ?? undefined;
      return token === undefined || token === null || token === "" ? undefined : { token, expires };
    } catch (error) {
      // A file or an environment that comes later is to be seen.
      this.#client = undefined;
      throw error;
    }
  }
}

async function openClient(credential: string | undefined): Promise<AuthClient> {
  const { gaxios, ExternalAccountClient, GoogleAuth, JWT, UserRefreshClient } = await import(
    "google-auth-library"
  );
  const transporter = new gaxios.Gaxios({ timeout: REQUEST_MS });
  if (credential === undefined) {
    return new GoogleAuth({ scopes: SCOPE, clientOptions: { transporter } }).getClient();
  }
  const fields = JSON.parse(credential) as Readonly<Record<string, unknown>>;
  const text = (name: string): string => {
    const value = fields[name];
    if (typeof value !== "string") throw new Error(`the credential has no ${name}`);
    return value;
  };
  switch (fields["type"]) {
    case "service_account": {
      const url = new URL(typeof fields["token_uri"] === "string" ? fields["token_uri"] : TOKEN_URI);
      // The library asks Google's own address alone.
      transporter.interceptors.request.add({ resolved: (config) => Promise.resolve({ ...config, url }) });
      return new JWT({
        email: text("client_email"),
        key: text("private_key"),
        ...(typeof fields["private_key_id"] === "string" ? { keyId: fields["private_key_id"] } : {}),
        scopes: SCOPE,
        transporter,
      });
    }
    case "authorized_user":
      return new UserRefreshClient({
        clientId: text("client_id"),
        clientSecret: text("client_secret"),
        refreshToken: text("refresh_token"),
        transporter,
      });
    case "external_account": {
      const client = ExternalAccountClient.fromJSON({
        ...(fields as unknown as Parameters<typeof ExternalAccountClient.fromJSON>[0]),
        transporter,
      });
      if (client === null) throw new Error("the credential is not complete");
      client.scopes = [SCOPE];
      return client;
    }
    default:
      throw new Error("the credential is of an unknown type");
  }
}
