import { create } from "@bufbuild/protobuf";
import { TrailerSchema } from "@switchyard/proto/inference/v1/inference_service";
import type { Head, Header, InferResponse, Trailer } from "@switchyard/proto/inference/v1/inference_service";
import type { TokenUsage } from "@switchyard/proto/events/v1/events";

const RESPONSE = "switchyard.inference.v1.InferResponse";
const HEAD = "switchyard.inference.v1.Head";
const HEADER = "switchyard.inference.v1.Header";

// Written as literals: these are made for every request and every chunk, and `create` would copy them.

/** The first part of an answer; `headers` is flat. */
export function headPart(status: number, headers: readonly string[]): InferResponse {
  const list: Header[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    list.push({ $typeName: HEADER, name: headers[at] as string, value: headers[at + 1] as string });
  }
  const head: Head = { $typeName: HEAD, status, headers: list };
  return { $typeName: RESPONSE, part: { case: "head", value: head } };
}

/** A name as a header's value: one that is not plain ASCII is percent-encoded, since headers can't hold it. */
export function headerText(name: string): string {
  return /^[\x20-\x7e]*$/.test(name) ? name : encodeURIComponent(name);
}

export function chunkPart(bytes: Uint8Array): InferResponse {
  return { $typeName: RESPONSE, part: { case: "chunk", value: bytes } };
}

/** The last part of every answer; of one that no deployment served nothing is known. */
export function trailerPart(
  facts: {
    readonly group?: string;
    readonly deployment?: string;
    readonly model?: string;
    readonly usage?: TokenUsage | undefined;
    readonly costUsd?: number | undefined;
  } = {},
): InferResponse {
  const trailer: Trailer = create(TrailerSchema, {
    group: facts.group ?? "",
    deployment: facts.deployment ?? "",
    model: facts.model ?? "",
    ...(facts.usage === undefined ? {} : { usage: facts.usage }),
    ...(facts.costUsd === undefined ? {} : { costUsd: facts.costUsd }),
  });
  return { $typeName: RESPONSE, part: { case: "trailer", value: trailer } };
}
