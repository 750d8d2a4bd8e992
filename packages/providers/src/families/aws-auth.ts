import { awsKeysOf } from "./aws-credential.ts";
import { type AwsSigning, FamilyError, type ProviderAccount } from "./family.ts";

/** How a request to AWS says who it is from. */
export interface AwsAuth {
  /** Flat: name, value, … */
  readonly headers: readonly string[];
  readonly signing: AwsSigning | undefined;
}

/** The region that the account is in. Throws a {@link FamilyError} where its config names none. */
export function regionOf({ region }: ProviderAccount): string {
  if (!region) throw new FamilyError("the provider has no region");
  return region;
}

/** Access keys sign, any other secret is a bearer token. */
export function awsAuth(secret: string | undefined, account: ProviderAccount, service: string): AwsAuth {
  if (secret === undefined) return { headers: [], signing: undefined };
  const keys = awsKeysOf(secret);
  return keys === undefined
    ? { headers: ["authorization", `Bearer ${secret}`], signing: undefined }
    : { headers: [], signing: { service, region: regionOf(account), ...keys } };
}

/** Callers' headers without those that a signature would have to hold, and without `accept`, which says what their own API answers with. */
export function withoutAwsHeaders(headers: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let place = 0; place + 1 < headers.length; place += 2) {
    const name = (headers[place] as string).toLowerCase();
    if (name === "accept" || name.startsWith("x-amz-")) continue;
    kept.push(name, headers[place + 1] as string);
  }
  return kept;
}
