import { readFileSync, statSync } from "node:fs";
import type { Credential, KeySecret } from "@switchyard/proto/config/v1/config";

/** Where secrets are read, without white space at their ends. Undefined: not there, or empty. */
export interface SecretSource {
  env(name: string): string | undefined;
  file(path: string): string | undefined;
}

/** Where a secret is read; what a config holds in its place. */
export type SecretReference =
  | { readonly from: "env"; readonly name: string }
  | { readonly from: "file"; readonly path: string }
  | { readonly from: "none" };

/** A secret, that none is needed, or the reference at which there is none (R10). */
export type ResolvedSecret =
  | { readonly kind: "secret"; readonly secret: string }
  | { readonly kind: "none" }
  | { readonly kind: "missing"; readonly reference: string };

/** Largest secret file, bytes. */
const MAX_SECRET_BYTES = 65_536;

/** Secrets of this process's environment and of files, relative to its working directory. */
export const processSecrets: SecretSource = {
  env: (name) => process.env[name]?.trim() || undefined,
  file: readSecretFile,
};

function readSecretFile(path: string): string | undefined {
  try {
    const found = statSync(path);
    // A pipe or a device may give nothing, or never end, and all else would wait for it.
    if (!found.isFile() || found.size > MAX_SECRET_BYTES) return undefined;
    return readFileSync(path, "utf8").trim() || undefined;
  } catch {
    // Missing and unreadable are the same to those who ask: the secret is not there.
    return undefined;
  }
}

/** The reference that a credential is; none is needed where a config gives none. */
export function credentialReference(credential: Credential | undefined): SecretReference {
  return toReference(credential?.source);
}

function toReference(source: Credential["source"] | undefined): SecretReference {
  if (source?.case === "env") return { from: "env", name: source.value };
  if (source?.case === "file") return { from: "file", path: source.value };
  return { from: "none" };
}

/** Reads the secret that a reference names. */
export function resolveSecret(reference: SecretReference, secrets: SecretSource): ResolvedSecret {
  if (reference.from === "none") return { kind: "none" };
  const secret = reference.from === "env" ? secrets.env(reference.name) : secrets.file(reference.path);
  return secret === undefined
    ? { kind: "missing", reference: describeReference(reference) }
    : { kind: "secret", secret };
}

/** The reference in words, for logs: the name of the variable or the path of the file, never what is in it. */
export function describeReference(reference: SecretReference): string {
  if (reference.from === "env") return `environment variable ${reference.name}`;
  return reference.from === "file" ? `file ${reference.path}` : "no secret";
}

/** The reference of a caller key's secret; undefined where the config holds its hash. */
export function keyReference(secret: KeySecret | undefined): SecretReference | undefined {
  const source = secret?.source;
  return source?.case === "env" || source?.case === "file" ? toReference(source) : undefined;
}
