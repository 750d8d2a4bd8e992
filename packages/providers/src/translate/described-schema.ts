import type { JsonObject } from "../json/lossless.ts";
import type { SchemaFormat } from "../neutral/request.ts";

/** The schema with what is said of it, for targets that have no other place for that. */
export function describedSchema({ schema, description }: SchemaFormat): JsonObject {
  if (description === undefined || description === "") return schema;
  const own = schema["description"];
  return { ...schema, description: typeof own === "string" ? `${description}\n\n${own}` : description };
}
