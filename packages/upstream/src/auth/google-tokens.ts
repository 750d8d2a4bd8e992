import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type * as GoogleLibrary from "google-auth-library";
import type { AuthClient, gaxios } from "google-auth-library";
import { type Fields, readFields, textIn, textOf } from "./credential-fields.ts";
import { createTokenSource, type Issued, REQUEST_MS, TokenError, type TokenSource } from "./token-source.ts";

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
/** Where tokens come from if a credential does not say. */
const TOKEN_URI = "https://oauth2.googleapis.com/token";

/**
 * Tokens of a Google credential: the JSON of a service account or a user, whose `token_uri` is used, of a workload identity
 * (`external_account`), or of a service account that one of these impersonates. Undefined for what the machine has (Application Default
 * Credentials): the file that `GOOGLE_APPLICATION_CREDENTIALS` names, gcloud's own, or the metadata server. Loads Google's library
 * when the first token is asked for.
 */
export function createGoogleTokens(
  credential: string | undefined,
  now: () => number = Date.now,
): TokenSource {
  return createTokenSource((signal) => ask(credential, signal), now);
}

type Library = typeof GoogleLibrary;
type Transporter = InstanceType<typeof gaxios.Gaxios>;

/** Each time anew: a file or an environment may have been replaced, and a token that the library keeps is not asked for. */
async function ask(credential: string | undefined, signal: AbortSignal): Promise<Issued> {
  const library = await import("google-auth-library");
  const transporter = new library.gaxios.Gaxios({ timeout: REQUEST_MS, signal });
  const text = credential ?? (await readDefault());
  if (text === undefined) {
    return issuedBy(new library.Compute({ scopes: [SCOPE] }));
  }
  return askAs(readFields(text), library, transporter);
}

async function askAs(fields: Fields, library: Library, transporter: Transporter): Promise<Issued> {
  if (fields["type"] !== "impersonated_service_account")
    return issuedBy(openClient(fields, library, transporter));
  const source = fields["source_credentials"];
  if (typeof source !== "object" || source === null) throw new TokenError("the credential has no source");
  const { token } = await issuedBy(openClient(source as Fields, library, transporter));
  const { data } = await transporter.request<Readonly<Record<string, string>>>({
    method: "POST",
    url: textOf(fields, "service_account_impersonation_url"),
    headers: { authorization: `Bearer ${token}` },
    data: { scope: [SCOPE], delegates: fields["delegates"] ?? [] },
  });
  const expires = Date.parse(data["expireTime"] ?? "");
  return { token: data["accessToken"] ?? "", expires: Number.isNaN(expires) ? undefined : expires };
}

async function issuedBy(client: AuthClient): Promise<Issued> {
  const { token } = await client.getAccessToken();
  return { token: token ?? "", expires: client.credentials.expiry_date ?? undefined };
}

function openClient(fields: Fields, library: Library, transporter: Transporter): AuthClient {
  const tokenUri = textIn(fields, "token_uri") ?? TOKEN_URI;
  switch (fields["type"]) {
    case "service_account": {
      const url = new URL(tokenUri);
      // The library asks Google's own address alone.
      transporter.interceptors.request.add({ resolved: (config) => Promise.resolve({ ...config, url }) });
      return new library.JWT({
        email: textOf(fields, "client_email"),
        key: textOf(fields, "private_key"),
        ...(typeof fields["private_key_id"] === "string" ? { keyId: fields["private_key_id"] } : {}),
        scopes: SCOPE,
        transporter,
      });
    }
    case "authorized_user":
      return new library.UserRefreshClient({
        clientId: textOf(fields, "client_id"),
        clientSecret: textOf(fields, "client_secret"),
        refreshToken: textOf(fields, "refresh_token"),
        endpoints: { oauth2TokenUrl: tokenUri },
        transporter,
      });
    case "external_account": {
      const client = openExternal(fields, library, transporter);
      client.scopes = [SCOPE];
      return client;
    }
    case "external_account_authorized_user":
      return new library.ExternalAccountAuthorizedUserClient({
        ...(fields as unknown as ConstructorParameters<
          typeof library.ExternalAccountAuthorizedUserClient
        >[0]),
        transporter,
      });
    default:
      throw new TokenError("the credential is of an unknown type");
  }
}

/** By what its source is, as the library's own factory has it, which warns on the console. */
function openExternal(
  fields: Fields,
  library: Library,
  transporter: Transporter,
): GoogleLibrary.BaseExternalAccountClient {
  const options = { ...fields, transporter } as unknown as GoogleLibrary.ExternalAccountClientOptions;
  const source = fields["credential_source"];
  const has = (name: string): boolean => typeof source === "object" && source !== null && name in source;
  if (has("environment_id")) return new library.AwsClient(options as GoogleLibrary.AwsClientOptions);
  return has("executable")
    ? new library.PluggableAuthClient(options as GoogleLibrary.PluggableAuthClientOptions)
    : new library.IdentityPoolClient(options as GoogleLibrary.IdentityPoolClientOptions);
}

/** Undefined: there is no file. One that is named and can't be read is a fault, not a reason to look further. */
async function readDefault(): Promise<string | undefined> {
  const named = process.env["GOOGLE_APPLICATION_CREDENTIALS"];
  try {
    return await readFile(named || join(gcloudFolder(), "application_default_credentials.json"), "utf8");
  } catch {
    if (named) throw new TokenError("the file that GOOGLE_APPLICATION_CREDENTIALS names can't be read");
    return undefined;
  }
}

function gcloudFolder(): string {
  return process.env["CLOUDSDK_CONFIG"] || join(homedir(), ".config", "gcloud");
}
