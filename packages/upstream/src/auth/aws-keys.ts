import { createTokenSource, type Issued, REQUEST_MS, type TokenSource } from "./token-source.ts";

/** What AWS's library would say on the console stays unsaid. */
const SILENT = { trace: silent, debug: silent, info: silent, warn: silent, error: silent };

/**
 * What the machine has for AWS: a Bedrock API key in `AWS_BEARER_TOKEN_BEDROCK`, else the access key that AWS's default chain finds
 * (environment, profile, SSO, credential process, web identity, container, instance), as JSON with `AccessKeyId`, `SecretAccessKey` and
 * maybe `SessionToken`. `region`: where roles are assumed if the environment does not say. Loads AWS's library when first asked.
 */
export function createAwsKeys(region: string | undefined, now: () => number = Date.now): TokenSource {
  return createTokenSource(() => ask(region), now);
}

/** The chain each time anew: the library would keep what it found once. */
async function ask(region: string | undefined): Promise<Issued> {
  const bearer = process.env["AWS_BEARER_TOKEN_BEDROCK"];
  if (bearer) return { token: bearer, expires: undefined };
  const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
  const find = defaultProvider({
    ignoreCache: true,
    logger: SILENT,
    clientConfig: {
      ...(region === undefined ? {} : { region }),
      requestHandler: { requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
      maxAttempts: 2,
    },
  });
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = await find();
  const keys = { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: sessionToken };
  return { token: JSON.stringify(keys), expires: expiration?.getTime() };
}

function silent(): void {
  // Nothing is to be said.
}
