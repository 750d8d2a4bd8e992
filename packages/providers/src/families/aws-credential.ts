import { isJsonObject, parseJsonText } from "../json/lossless.ts";

/** An AWS access key, lasting or temporary. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/** Ids of access keys begin with their kind. */
const KEYS = /^(A[A-Z0-9]{15,127}):([A-Za-z0-9/+=]{16,}?)(?::([A-Za-z0-9/+=_-]+))?$/u;

/**
 * The access key that an account's secret is: `ID:SECRET` or `ID:SECRET:SESSION_TOKEN`, or JSON as AWS's own tools print it. Nothing for
 * any other secret, which is a Bedrock API key.
 */
export function awsKeysOf(secret: string): AwsKeys | undefined {
  const [, accessKeyId, secretAccessKey, sessionToken] = KEYS.exec(secret) ?? [];
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    return { accessKeyId, secretAccessKey, sessionToken };
  }
  return secret.trimStart().startsWith("{") ? readJson(secret) : undefined;
}

/** What `aws sts assume-role` and credential processes print, and the same in an envelope of `Credentials`. */
function readJson(secret: string): AwsKeys | undefined {
  const parsed = parseJsonText(secret);
  if (!isJsonObject(parsed)) return undefined;
  const keys = isJsonObject(parsed["Credentials"]) ? parsed["Credentials"] : parsed;
  const text = (...names: readonly string[]): string | undefined => {
    const found = names.map((name) => keys[name]).find((value) => typeof value === "string" && value !== "");
    return typeof found === "string" ? found : undefined;
  };
  const accessKeyId = text("AccessKeyId", "aws_access_key_id", "accessKeyId");
  const secretAccessKey = text("SecretAccessKey", "aws_secret_access_key", "secretAccessKey");
  const sessionToken = text("SessionToken", "Token", "aws_session_token", "sessionToken");
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken };
}

/** The parts of a secret that are secret by themselves, the whole first. */
export function secretParts(secret: string): readonly string[] {
  const keys = awsKeysOf(secret);
  if (keys === undefined) return [secret];
  const { accessKeyId, secretAccessKey, sessionToken } = keys;
  return [secret, secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken]), accessKeyId];
}
