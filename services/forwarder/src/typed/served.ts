import { create } from "@bufbuild/protobuf";
import type { JsonValue } from "@bufbuild/protobuf";
import { AttemptEntrySchema } from "@switchyard/proto/inference/v1/inference_service";
import type { AttemptEntry, Head, Trailer } from "@switchyard/proto/inference/v1/inference_service";
import { countOf, objectsOf, present, textOf } from "./json.ts";

export function headerIn(head: Head | undefined, name: string): string | undefined {
  return head?.headers.find((header) => header.name === name)?.value;
}

export function isSuccess({ status }: Head): boolean {
  return status >= 200 && status <= 299;
}

/** The attempts that a head tells of (H1). */
export function readAttempts(head: Head | undefined): AttemptEntry[] {
  const rows = JSON.parse(headerIn(head, "x-ants-attempts") ?? "[]") as JsonValue;
  return objectsOf(rows).map((row) =>
    create(AttemptEntrySchema, {
      deployment: textOf(row["deployment"]) ?? "",
      outcome: textOf(row["outcome"]) ?? "",
      ms: BigInt(countOf(row["ms"]) ?? 0),
      ...present({ status: countOf(row["status"]), error: textOf(row["error"]) }),
    }),
  );
}

/** What a trailer says, as all answers in types have it. */
export function servedFields({ usage, deployment, group, costUsd }: Trailer) {
  return { deployment, group, ...present({ usage, costUsd }) };
}
