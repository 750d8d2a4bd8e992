import { isJsonList, isJsonObject, type Json, type JsonObject } from "../../json/lossless.ts";

/** Whether OpenAI would take the schema with `strict: true`: every object closed, every property required. */
export function isStrictSchema(schema: JsonObject): boolean {
  return check(schema);
}

function check(value: Json | undefined): boolean {
  if (isJsonList(value)) return value.every(check);
  if (!isJsonObject(value)) return true;
  const properties = value["properties"];
  if (value["type"] === "object" || properties !== undefined) {
    const required = value["required"];
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    const isClosed = value["additionalProperties"] === false;
    if (!isClosed || !names.every((name) => isJsonList(required) && required.includes(name))) return false;
  }
  return Object.values(value).every(check);
}
