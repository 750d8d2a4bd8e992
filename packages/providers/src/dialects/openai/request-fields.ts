import type { JsonObject } from "../../json/lossless.ts";
import type { Block, NeutralRequest, SchemaFormat, TextBlock, ToolChoice } from "../../neutral/request.ts";
import { invalidField, NO_COUNTERPART, notTranslatable } from "../../translate/fault.ts";
import { type Fields, fieldsAt } from "../../translate/fields.ts";

/** What `reasoning_effort` and `reasoning.effort` may say. */
export const EFFORTS: ReadonlySet<string> = new Set([
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
]);

/** `service_tier` of both of OpenAI's APIs; undefined where the target is to choose. */
export function readTier(fields: Fields): NeutralRequest["serviceTier"] {
  const tier = fields.text("service_tier");
  if (tier === undefined || tier === "auto") return undefined;
  if (tier === "default") return "standard";
  throw notTranslatable(fields.at("service_tier"), `there is no tier '${tier.slice(0, 40)}' there`);
}

/** `tool_choice` of both of OpenAI's APIs; `nameOf` finds the function's name in a choice that names one. */
export function readToolChoice(fields: Fields, nameOf: (named: Fields) => string): ToolChoice | undefined {
  const choice = fields.take("tool_choice");
  if (choice === undefined) return undefined;
  if (choice === "auto" || choice === "required" || choice === "none") return { mode: choice };
  if (typeof choice === "string")
    throw invalidField(fields.at("tool_choice"), "must be auto, required, none or an object");
  const named = fieldsAt(choice, fields.at("tool_choice"));
  if (named.needText("type") !== "function") throw notTranslatable(named.at("type"), NO_COUNTERPART);
  return { mode: "tool", name: nameOf(named) };
}

/** What both of OpenAI's APIs say of a schema that an answer is to follow: not strictly, where they say nothing. */
export function readSchemaFormat(fields: Fields, schema: JsonObject): SchemaFormat {
  return {
    kind: "schema",
    schema,
    name: fields.text("name"),
    description: fields.text("description"),
    strict: fields.flag("strict") ?? false,
  };
}

/** The blocks of an instruction, which are all text. */
export function onlyText(blocks: readonly Block[]): TextBlock[] {
  return blocks.map((block) => {
    if (block.kind === "text") return block;
    throw invalidField(block.path, "must be text in a system or developer message");
  });
}
