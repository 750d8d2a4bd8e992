import { AE, HANG, json, NEXT, sse } from "@switchyard/testkit";
import type { Answer, Step } from "@switchyard/testkit";
import { chat } from "./chat.ts";
import { fieldsOf, halves, listOf, need, needConversation, only, SIGNATURE, textOf, USED } from "./vendor.ts";
import type { Fields, Part, Said, Turn, Vendor } from "./vendor.ts";

const KNOWN =
  "model input instructions tools tool_choice text reasoning include store stream max_output_tokens parallel_tool_calls";

/** OpenAI's responses. */
export const responses: Vendor = {
  signs: true,
  tellsWait: true,
  read: (call) => {
    const body = only(call.json(), "body", KNOWN);
    textOf(body["model"], "model");
    const reasoning = only(body["reasoning"] ?? {}, "reasoning", "effort summary");
    const turns: Turn[] = [];
    for (const [place, item] of itemsOf(body["input"]).entries()) {
      const turn = readItem(fieldsOf(item, `input[${place}]`), `input[${place}]`);
      const last = turns.at(-1);
      if (last?.role === turn.role)
        turns[turns.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] };
      else turns.push(turn);
    }
    return {
      system: (body["instructions"] as string | undefined) ?? "",
      turns: needConversation(turns),
      tools: listOf(body["tools"] ?? [], "tools").map((tool) => {
        const { type, name } = only(tool, "tools", "type name description parameters strict");
        need(type === "function", "tools.type");
        return textOf(name, "tools.name");
      }),
      schema: (body["text"] as { format?: Fields } | undefined)?.format?.["schema"],
      thinks: reasoning["effort"] !== undefined,
    };
  },
  say: (said, call) => ((call.json() as Fields)["stream"] === true ? stream(said) : json(200, whole(said))),
  fail: (mistake, message) => chat.fail(mistake, message),
};

function itemsOf(input: unknown): readonly unknown[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : listOf(input, "input");
}

function readItem(item: Fields, path: string): Turn {
  switch (item["type"] ?? "message") {
    case "message": {
      const role = item["role"] as Turn["role"];
      return { role, parts: readContent(item["content"], path) };
    }
    case "function_call": {
      const { call_id: id, name, arguments: args } = item;
      const parsed = JSON.parse(textOf(args, path)) as unknown;
      return {
        role: "assistant",
        parts: [{ kind: "call", id: textOf(id, path), name: textOf(name, path), args: parsed }],
      };
    }
    case "function_call_output": {
      const { call_id: id, output } = item;
      return { role: "user", parts: [{ kind: "result", id: textOf(id, path), text: textOf(output, path) }] };
    }
    case "reasoning": {
      need(item["encrypted_content"] === SIGNATURE, `${path}: The encrypted content could not be verified.`);
      return { role: "assistant", parts: [{ kind: "thinking", text: "", signature: SIGNATURE }] };
    }
    default:
      need(false, `${path}.type: unknown`);
      throw new Error("unreachable");
  }
}

function readContent(content: unknown, path: string): Part[] {
  if (typeof content === "string") return [{ kind: "text", text: textOf(content, path) }];
  return listOf(content, path).map((part) => {
    const { type, text, image_url: url } = fieldsOf(part, path);
    if (type === "input_text" || type === "output_text") return { kind: "text", text: textOf(text, path) };
    need(type === "input_image", `${path}.type: unknown`);
    const [, mediaType, data] = /^data:([^;]+);base64,(.+)$/u.exec(textOf(url, path)) ?? [];
    return { kind: "image", mediaType: textOf(mediaType, path), data: textOf(data, path) };
  });
}

interface Item {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

function outputOf({ thinking, text, calls = [] }: Said): Item[] {
  return [
    ...(thinking === undefined
      ? []
      : [
          {
            id: "rs_1",
            type: "reasoning",
            summary: [{ type: "summary_text", text: thinking }],
            encrypted_content: SIGNATURE,
          },
        ]),
    ...(text === undefined
      ? []
      : [
          {
            id: "msg_1",
            type: "message",
            status: "completed",
            role: "assistant",
            content: [{ type: "output_text", text, annotations: [] }],
          },
        ]),
    ...calls.map(({ id, name, args }, place) => ({
      id: `fc_${place}`,
      type: "function_call",
      status: "completed",
      call_id: id,
      name,
      arguments: args,
    })),
  ];
}

function whole(said: Said, more: object = {}): object {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "up-model",
    output: outputOf(said),
    usage: {
      input_tokens: USED.input,
      input_tokens_details: { cached_tokens: USED.cached },
      output_tokens: USED.output,
      output_tokens_details: { reasoning_tokens: USED.reasoning },
      total_tokens: USED.input + USED.output,
    },
    ...more,
  };
}

function stream(said: Said): Answer {
  const steps: Step[] = [];
  let sequence_number = 0;
  const event = (name: string, fields: object): void => {
    const type = `response.${name}`;
    steps.push(AE(type, { type, sequence_number, ...fields }));
    sequence_number += 1;
  };
  event("created", { response: whole(said, { status: "in_progress", output: [], usage: null }) });
  for (const [output_index, item] of outputOf(said).entries()) {
    const at = { item_id: item.id, output_index };
    const begun = { ...item, status: "in_progress", content: [], summary: [], arguments: "" };
    event("output_item.added", { output_index, item: begun });
    if (item.type === "message") {
      const place = { ...at, content_index: 0 };
      event("content_part.added", { ...place, part: { type: "output_text", text: "", annotations: [] } });
      for (const delta of halves(said.text ?? "")) {
        event("output_text.delta", { ...place, delta });
        steps.push(NEXT);
      }
      if (said.hangs === true) return sse([...steps, HANG]);
    }
    if (item.type === "function_call")
      for (const delta of halves(item["arguments"] as string))
        event("function_call_arguments.delta", { ...at, delta });
    event("output_item.done", { output_index, item });
  }
  event("completed", { response: whole(said) });
  return sse(steps);
}
