import { create } from "@bufbuild/protobuf";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { EmbeddingSchema } from "@switchyard/proto/inference/v1/inference_service";
import type { Embedding, EmbedRequest } from "@switchyard/proto/inference/v1/inference_service";
import { countOf, objectsOf, present, unreadable } from "./json.ts";

/** The body of `/v1/embeddings` that asks for the same. */
export function embedBody({ extra, model, input, dimensions, user }: EmbedRequest): JsonObject {
  return { ...extra, model, input, ...present({ dimensions, user }) };
}

/** The vectors of an answer, in the texts' order. Throws a ConnectError for what is no list of vectors. */
export function readEmbeddings(answer: JsonObject): Embedding[] {
  if (!Array.isArray(answer["data"])) throw unreadable("it has no data");
  const read = objectsOf(answer["data"]).map((one, at) =>
    create(EmbeddingSchema, { index: countOf(one["index"]) ?? at, values: vectorOf(one["embedding"]) }),
  );
  return read.toSorted((one, other) => one.index - other.index);
}

/** Numbers, or base64 of little-endian floats: the form that SDKs ask for and some servers always give. */
function vectorOf(value: JsonValue | undefined): number[] {
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "base64");
    if (bytes.length % 4 !== 0) throw unreadable("a vector is cut off");
    return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
  }
  if (!Array.isArray(value) || !value.every(isFloat)) {
    throw unreadable("a vector holds something else than floats");
  }
  return value;
}

/** A larger number could not be written into the answer. */
function isFloat(value: JsonValue): value is number {
  return typeof value === "number" && Number.isFinite(Math.fround(value));
}
