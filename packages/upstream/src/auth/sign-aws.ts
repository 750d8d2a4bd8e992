import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { ExchangeRequest, RequestBody } from "../types.ts";

/** With what a request to AWS is signed. Holds the secret: not for logs. */
export interface AwsSigning {
  /** Name of the service in the signature's scope. */
  readonly service: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/** The part of a request that is signed: host, path, query, type and body. */
export type Signable = Pick<ExchangeRequest, "method" | "origin" | "path" | "body">;

/**
 * The headers (flat: name, value, …) that sign a JSON request to AWS (SigV4), good for five minutes from `now`, epoch ms. Its other
 * headers are not signed, so none of them may be an `x-amz-` one.
 */
export async function signAws(request: Signable, signing: AwsSigning, now: number): Promise<string[]> {
  const { service, region, accessKeyId, secretAccessKey, sessionToken } = signing;
  const signer = new SignatureV4({
    service,
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    sha256: Sha256,
  });
  const url = new URL(request.origin);
  const split = request.path.indexOf("?");
  const signed = await signer.sign(
    {
      method: request.method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: split < 0 ? request.path : request.path.slice(0, split),
      query: split < 0 ? {} : readQuery(request.path.slice(split + 1)),
      headers: { host: url.host, "content-type": "application/json" },
      body: wholeOf(request.body),
    },
    { signingDate: new Date(now) },
  );
  return Object.entries(signed.headers).flatMap(([name, value]) =>
    name === "host" || name === "content-type" ? [] : [name, value],
  );
}

/** The signer takes a list for a stream, and would leave it unsigned. */
function wholeOf(body: RequestBody): Uint8Array | undefined {
  if (body === null || body instanceof Uint8Array) return body ?? undefined;
  return Buffer.concat(body);
}

function readQuery(query: string): Record<string, string[]> {
  const read: Record<string, string[]> = {};
  for (const [name, value] of new URLSearchParams(query)) (read[name] ??= []).push(value);
  return read;
}

/** The hash that the signer wants, with a key an HMAC. */
class Sha256 {
  readonly #key: Bytes | undefined;
  #hash: Hash | Hmac;

  constructor(key?: Bytes) {
    this.#key = key;
    this.#hash = start(key);
  }

  update(data: Bytes): void {
    this.#hash.update(viewOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }

  reset(): void {
    this.#hash = start(this.#key);
  }
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

function start(key: Bytes | undefined): Hash | Hmac {
  return key === undefined ? createHash("sha256") : createHmac("sha256", viewOf(key));
}

function viewOf(data: Bytes): string | Uint8Array {
  if (typeof data === "string") return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
