import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createScriptedProvider, json } from "@switchyard/testkit";
import type { Answer, RecordedCall, ScriptedProvider } from "@switchyard/testkit";
import { CANARIES, SCENE_ENV } from "./gateway-scene.ts";

/** What stands for tokens, and must be told to who gives them alone. */
const HELD = {
  googleSecret: "CLOUD-google-secret-51be",
  refresh: "CLOUD-refresh-token-8d20",
  container: "CLOUD-container-token-c47f",
  azureSecret: "CLOUD-azure-secret-0b9e",
} as const;

/** What a machine holds beside the tokens that it is given, which are the scenes' secrets of upstream A. */
export const CLOUD_SECRETS: readonly string[] = Object.values(HELD);

/** A machine that has an identity in three clouds. */
export interface CloudIdentity {
  /** Who gives tokens; answers until told otherwise. */
  readonly server: ScriptedProvider;
  /** What the machine's environment says. */
  readonly env: Readonly<Record<string, string>>;
  /** A folder for further credentials. */
  readonly folder: string;
  /** A service principal of that tenant as JSON. */
  principal(tenant: string): string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startCloudIdentity(): Promise<CloudIdentity> {
  const server = await createScriptedProvider();
  const folder = mkdtempSync(join(tmpdir(), "switchyard-identity-"));
  server.answer(grant);
  const google = join(folder, "google.json");
  const user = {
    type: "authorized_user",
    client_id: "client",
    client_secret: HELD.googleSecret,
    refresh_token: HELD.refresh,
    token_uri: `${server.url}/google`,
  };
  writeFileSync(google, JSON.stringify(user));
  return {
    server,
    folder,
    env: {
      GOOGLE_APPLICATION_CREDENTIALS: google,
      AWS_SHARED_CREDENTIALS_FILE: join(folder, "none"),
      AWS_CONFIG_FILE: join(folder, "none"),
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${server.url}/aws`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: HELD.container,
      AZURE_AUTHORITY_HOST: server.url,
      AZURE_TENANT_ID: "machine",
      AZURE_CLIENT_ID: "client",
      AZURE_CLIENT_SECRET: HELD.azureSecret,
    },
    principal: (tenant) => JSON.stringify({ tenant, appId: "client", password: HELD.azureSecret }),
    async [Symbol.asyncDispose]() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A token, or a key of AWS, for an hour. */
export function grant({ path }: RecordedCall): Answer {
  if (path !== "/aws") return json(200, { access_token: CANARIES.A, expires_in: 3600, token_type: "Bearer" });
  const { SessionToken: Token, ...keys } = JSON.parse(SCENE_ENV["SCENE_AWS_A"] ?? "") as Record<
    string,
    string
  >;
  return json(200, { ...keys, Token, Expiration: new Date(Date.now() + 3_600_000).toISOString() });
}

/** A refusal that repeats all that was asked, as token servers do in their descriptions. */
export function refuse(call: RecordedCall): Answer {
  const told = `${call.body.toString()} ${JSON.stringify(call.headers)}`;
  return json(400, { error: "invalid_client", error_description: told });
}
