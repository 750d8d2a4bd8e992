import { readFile } from "node:fs/promises";
import { type Fields, readFields, textIn, textOf } from "./credential-fields.ts";
import {
  createTokenSource,
  type Issued,
  oauthError,
  REQUEST_MS,
  TokenError,
  type TokenSource,
} from "./token-source.ts";

/** Azure's clouds, by the end of a resource's host: who gives tokens, and for whom they are. */
const CLOUDS = [
  {
    end: ".azure.us",
    authority: "https://login.microsoftonline.us",
    audience: "https://cognitiveservices.azure.us",
  },
  {
    end: ".azure.cn",
    authority: "https://login.chinacloudapi.cn",
    audience: "https://cognitiveservices.azure.cn",
  },
] as const;
const PUBLIC = {
  authority: "https://login.microsoftonline.com",
  audience: "https://cognitiveservices.azure.com",
} as const;
type Cloud = (typeof CLOUDS)[number] | typeof PUBLIC;

/** Where a virtual machine asks for the tokens of its own identity. */
const MACHINE = "http://169.254.169.254";
const ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** Largest answer of a token server, bytes. */
const MOST_BYTES = 262_144;

/**
 * Tokens of Microsoft Entra for Azure's AI services. The credential is the JSON of a service principal, as `az ad sp create-for-rbac` prints
 * it, with a secret or a `federated_token_file`. Undefined for what the machine has: `AZURE_TENANT_ID` and `AZURE_CLIENT_ID` with
 * `AZURE_CLIENT_SECRET` or `AZURE_FEDERATED_TOKEN_FILE` (workload identity), else its managed identity. `AZURE_AUTHORITY_HOST` replaces who
 * gives them. `baseUrl`: of the resource, whose host tells the cloud.
 */
export function createEntraTokens(
  credential: string | undefined,
  baseUrl: string | undefined,
  now: () => number = Date.now,
): TokenSource {
  const cloud = cloudOf(baseUrl);
  return createTokenSource(async (signal) => {
    const asked = credential === undefined ? fromMachine(cloud) : principal(readFields(credential), cloud);
    return readToken(await request(await asked, signal), now());
  }, now);
}

/** One request for a token. */
interface Asked {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A form, posted; absent: nothing is sent. */
  readonly form?: Readonly<Record<string, string>>;
}

function cloudOf(baseUrl: string | undefined): Cloud {
  const host = baseUrl === undefined ? "" : new URL(baseUrl).hostname;
  return CLOUDS.find(({ end }) => host.endsWith(end)) ?? PUBLIC;
}

function fromMachine(cloud: Cloud): Asked | Promise<Asked> {
  const { env } = process;
  const client = env["AZURE_CLIENT_ID"];
  const file = env["AZURE_FEDERATED_TOKEN_FILE"];
  const secret = env["AZURE_CLIENT_SECRET"];
  if (env["AZURE_TENANT_ID"] && client && (secret || file)) {
    const fields = {
      tenant: env["AZURE_TENANT_ID"],
      clientId: client,
      clientSecret: secret,
      federated_token_file: file,
    };
    return principal(fields, cloud);
  }
  const query = { resource: cloud.audience, ...(client ? { client_id: client } : {}) };
  const endpoint = env["IDENTITY_ENDPOINT"];
  const header = env["IDENTITY_HEADER"];
  if (endpoint && header) {
    return {
      url: withQuery(endpoint, { "api-version": "2019-08-01", ...query }),
      headers: { "x-identity-header": header },
    };
  }
  const url = `${env["AZURE_POD_IDENTITY_AUTHORITY_HOST"] || MACHINE}/metadata/identity/oauth2/token`;
  return { url: withQuery(url, { "api-version": "2018-02-01", ...query }), headers: { metadata: "true" } };
}

/** A service principal proves itself by its secret, or by a token that its platform writes to a file and renews there. */
async function principal(fields: Fields, cloud: Cloud): Promise<Asked> {
  const tenant = textOf(fields, "tenant", "tenantId", "tenant_id");
  const authority =
    textIn(fields, "activeDirectoryEndpointUrl") ?? (process.env["AZURE_AUTHORITY_HOST"] || cloud.authority);
  const secret = textIn(fields, "clientSecret", "password", "client_secret");
  const file = textIn(fields, "federated_token_file", "federatedTokenFile");
  if (secret === undefined && file === undefined) throw new TokenError("the credential has no clientSecret");
  const proof: Readonly<Record<string, string>> =
    secret === undefined
      ? { client_assertion_type: ASSERTION, client_assertion: await readAssertion(file as string) }
      : { client_secret: secret };
  return {
    url: `${withScheme(authority).replace(/\/+$/u, "")}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
    form: {
      grant_type: "client_credentials",
      client_id: textOf(fields, "clientId", "appId", "client_id"),
      scope: `${cloud.audience}/.default`,
      ...proof,
    },
  };
}

async function readAssertion(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch {
    throw new TokenError("the file of the federated token can't be read");
  }
}

/** The variable is a host name in older documents. */
function withScheme(authority: string): string {
  return /^https?:\/\//u.test(authority) ? authority : `https://${authority}`;
}

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  const whole = new URL(url);
  for (const [name, value] of Object.entries(query)) whole.searchParams.set(name, value);
  return whole.href;
}

async function request({ url, headers, form }: Asked, signal: AbortSignal): Promise<Fields> {
  const answer = await fetch(url, {
    method: form === undefined ? "GET" : "POST",
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
    ...(headers === undefined ? {} : { headers }),
    ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
  });
  const text = await readText(answer);
  if (answer.ok) return readAnswer(text);
  throw new TokenError(oauthError(parsed(text)) ?? `status ${answer.status}`);
}

async function readText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body ?? []) {
    size += piece.length;
    if (size > MOST_BYTES) throw new TokenError("an answer that is too long");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function readAnswer(text: string): Fields {
  const answer = parsed(text);
  if (typeof answer !== "object" || answer === null) throw new TokenError("an answer that is no JSON object");
  return answer as Fields;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Some give the seconds that are left, some the second of the end; as numbers or as text. */
function readToken(answer: Fields, now: number): Issued {
  const token = textIn(answer, "access_token");
  if (token === undefined) throw new TokenError("an answer without a token");
  const left = secondsOf(answer["expires_in"]);
  const end = secondsOf(answer["expires_on"]);
  const expires = left === undefined ? (end === undefined ? undefined : end * 1000) : now + left * 1000;
  return { token, expires };
}

function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}
