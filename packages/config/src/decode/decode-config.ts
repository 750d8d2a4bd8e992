import type { Config } from "@switchyard/proto/config/v1/config";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import type { Fault } from "../fault.ts";
import { decodeMessage } from "./decode-message.ts";
import { parseText } from "./parse-text.ts";

/** By which editors find the schema of a JSON file. */
const SCHEMA_KEY = "$schema";

/**
 * Reads a config from YAML or JSON text. The config holds all that could be read, and is undefined only when the
 * text is no YAML at all; an empty text is an empty config.
 */
export function decodeConfig(text: string): { config: Config | undefined; faults: Fault[] } {
  const { data, faults } = parseText(text);
  if (data === undefined) return { config: undefined, faults };
  return { config: decodeMessage(ConfigSchema, withoutSchemaKey(data ?? {}), "", faults), faults };
}

function withoutSchemaKey(data: unknown): unknown {
  if (typeof data !== "object" || data === null || !(SCHEMA_KEY in data)) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== SCHEMA_KEY));
}
