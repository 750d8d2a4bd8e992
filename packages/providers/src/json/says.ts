import { isJsonList, isJsonObject, type Json } from "./lossless.ts";

/** Whether the value holds anything: servers written in Go send each field they know, empty where there is nothing. */
export function saysSomething(value: Json | undefined): boolean {
  if (isJsonList(value)) return value.some(saysSomething);
  if (isJsonObject(value)) return Object.values(value).some(saysSomething);
  return value !== undefined && value !== null && value !== "" && value !== 0 && value !== false;
}
