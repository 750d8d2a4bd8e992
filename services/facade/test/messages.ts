import type { InferResponse } from "@switchyard/proto/inference/v1/inference_service";

export function head(status: number, headers: Readonly<Record<string, string>> = {}): InferResponse {
  return {
    $typeName: "switchyard.inference.v1.InferResponse",
    part: {
      case: "head",
      value: {
        $typeName: "switchyard.inference.v1.Head",
        status,
        headers: Object.entries(headers).map(([name, value]) => ({
          $typeName: "switchyard.inference.v1.Header" as const,
          name,
          value,
        })),
      },
    },
  };
}

export function chunk(bytes: string | Uint8Array): InferResponse {
  return {
    $typeName: "switchyard.inference.v1.InferResponse",
    part: { case: "chunk", value: Buffer.from(bytes) },
  };
}

export const TRAILER: InferResponse = {
  $typeName: "switchyard.inference.v1.InferResponse",
  part: {
    case: "trailer",
    value: { $typeName: "switchyard.inference.v1.Trailer", deployment: "a/m", group: "g", model: "m" },
  },
};

export const SSE = { "content-type": "text/event-stream" };
export const JSON_TYPE = { "content-type": "application/json" };
