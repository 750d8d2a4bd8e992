import { type Fields, fields, list, text } from "./values.ts";

/** What a vendor would refuse of a request, by its published rules; one line each. */
export type RequestRules = (body: Fields) => string[];

const faultsOf = (checks: readonly (readonly [boolean, string])[]): string[] =>
  checks.flatMap(([holds, fault]) => (holds ? [] : [fault]));

/** Thinking and what does not go with it, on whichever API Claude is asked. */
function thinkingFaults(thinking: Fields, maxTokens: unknown, sampling: Fields, choice: string): string[] {
  const budget = thinking["budget_tokens"];
  const on = thinking["type"] === "enabled" || thinking["type"] === "adaptive";
  if (!on) return [];
  return faultsOf([
    [
      thinking["type"] !== "enabled" ||
        (typeof budget === "number" &&
          budget >= 1024 &&
          (maxTokens === undefined || budget < (maxTokens as number))),
      "the budget is not between 1024 and max_tokens",
    ],
    [
      (sampling["temperature"] ?? 1) === 1 && sampling["top_k"] === undefined,
      "thinking goes with no temperature or top_k",
    ],
    [((sampling["top_p"] ?? 1) as number) >= 0.95, "thinking goes with no top_p below 0.95"],
    [choice !== "any" && choice !== "tool", "thinking goes with no forced call"],
  ]);
}

/** A call is answered in the turn after it, before all else there. */
function answeredFaults(
  turns: readonly {
    readonly calls: readonly string[];
    readonly results: readonly string[];
    readonly resultsFirst: boolean;
  }[],
): string[] {
  return turns.flatMap(({ resultsFirst, results }, place) => {
    const calls = place === 0 ? [] : (turns[place - 1]?.calls ?? []);
    return faultsOf([
      [resultsFirst, "results stand behind other blocks"],
      [
        calls.toSorted().join() === results.toSorted().join(),
        `calls ${calls.join()} are answered by ${results.join()}`,
      ],
    ]);
  });
}

/** With a budget to think, an answer whose calls are being worked on begins with its thinking. */
function loopFaults(on: boolean, kinds: readonly (readonly string[])[]): string[] {
  const last = kinds.at(-1) ?? [];
  const before = kinds.at(-2) ?? [];
  const isLoop = last[0] === "result" && before.includes("call");
  return faultsOf([
    [
      !on || !isLoop || /^(?:thinking|redacted)$/u.test(before[0] ?? ""),
      "the answer under work begins without thinking",
    ],
  ]);
}

const KINDS: Readonly<Record<string, string>> = {
  thinking: "thinking",
  redacted_thinking: "redacted",
  tool_use: "call",
  tool_result: "result",
};

function idsIn(block: Fields): string[] {
  return [block["id"], block["tool_use_id"]].flatMap((id) => (typeof id === "string" ? [id] : []));
}

export const messagesRules: RequestRules = (body) => {
  const thinking = fields(body["thinking"]);
  const turns = list(body["messages"]).map((value) => {
    const { content } = fields(value);
    return (typeof content === "string" ? [{ type: "text", text: content }] : list(content)).map(fields);
  });
  const kinds = turns.map((blocks) => blocks.map(({ type }) => KINDS[text(type)] ?? "said"));
  const blocks = [...turns.flat(), ...list(body["system"]).map(fields)];
  const marks = [...blocks, ...list(body["tools"]).map(fields)].filter(
    (block) => "cache_control" in block,
  ).length;
  return [
    ...thinkingFaults(thinking, body["max_tokens"], body, text(fields(body["tool_choice"])["type"])),
    ...answeredFaults(
      turns.map((said, place) => ({
        calls: said.flatMap(({ type, id }) => (type === "tool_use" ? [text(id)] : [])),
        results: said.flatMap((block) =>
          block["type"] === "tool_result" ? [text(block["tool_use_id"])] : [],
        ),
        resultsFirst:
          (kinds[place] ?? []).lastIndexOf("result") <
          (kinds[place] ?? []).filter((kind) => kind === "result").length,
      })),
    ),
    ...loopFaults(thinking["type"] === "enabled", kinds),
    ...faultsOf([
      [typeof body["max_tokens"] === "number", "no max_tokens"],
      [
        blocks.every((block) => idsIn(block).every((id) => /^[\w-]+$/u.test(id))),
        "an id of other characters",
      ],
      [
        blocks.every((block) => block["type"] !== "text" || text(block["text"]).trim() !== ""),
        "a text is blank",
      ],
      [turns.every((said) => said.length > 0), "a turn is empty"],
      [marks <= 4, "more than four cache breakpoints"],
    ]),
  ];
};

export const converseRules: RequestRules = (body) => {
  const more = fields(body["additionalModelRequestFields"]);
  const { temperature, topP: top_p, maxTokens } = fields(body["inferenceConfig"]);
  const [choice = ""] = Object.keys(fields(fields(body["toolConfig"])["toolChoice"]));
  const turns = list(body["messages"]).map(fields);
  const kinds = turns.map(({ content }) =>
    list(content).flatMap((value) => {
      const block = fields(value);
      if ("cachePoint" in block) return [];
      if ("toolUse" in block) return ["call"];
      if ("toolResult" in block) return ["result"];
      return ["reasoningContent" in block ? "thinking" : "said"];
    }),
  );
  const ids = (turn: Fields, key: string): string[] =>
    list(turn["content"]).flatMap((value) =>
      key in fields(value) ? [text(fields(fields(value)[key])["toolUseId"])] : [],
    );
  const thinking = fields(more["thinking"]);
  const called = kinds.flat().some((kind) => kind === "call" || kind === "result");
  return [
    ...thinkingFaults(
      thinking,
      maxTokens,
      { temperature, top_p, top_k: more["top_k"] },
      choice || text(fields(more["tool_choice"])["type"]),
    ),
    ...answeredFaults(
      turns.map((turn, place) => ({
        calls: ids(turn, "toolUse"),
        results: ids(turn, "toolResult"),
        resultsFirst:
          (kinds[place] ?? []).lastIndexOf("result") <
          (kinds[place] ?? []).filter((kind) => kind === "result").length,
      })),
    ),
    ...loopFaults(thinking["type"] === "enabled", kinds),
    ...faultsOf([
      [
        turns.every(({ role }, place) => role === (place % 2 === 0 ? "user" : "assistant")),
        "roles do not take turns",
      ],
      [!called || list(fields(body["toolConfig"])["tools"]).length > 0, "calls without toolConfig"],
      [kinds.every((said) => said.length > 0), "a turn is empty"],
      [
        turns.every((turn) =>
          [...ids(turn, "toolUse"), ...ids(turn, "toolResult")].every((id) => /^[\w-]{1,64}$/u.test(id)),
        ),
        "an id of other characters, or too long",
      ],
    ]),
  ];
};

export const chatRules: RequestRules = (body) => {
  const messages = list(body["messages"]).map(fields);
  const faults: string[] = [];
  let waiting: string[] = [];
  for (const message of messages) {
    if (message["role"] === "tool") {
      if (!waiting.includes(text(message["tool_call_id"]))) faults.push("a result of no call");
      waiting = waiting.filter((id) => id !== message["tool_call_id"]);
      continue;
    }
    if (waiting.length > 0) faults.push(`calls ${waiting.join()} are not answered`);
    waiting = list(message["tool_calls"]).map((call) => text(fields(call)["id"]));
    const said = message["content"];
    const empty =
      said === null || said === undefined || said === "" || (Array.isArray(said) && said.length === 0);
    if (empty && waiting.length === 0) faults.push("a message says nothing");
  }
  const offered = list(body["tools"]).length > 0;
  return [
    ...faults,
    ...faultsOf([
      [waiting.length === 0, "calls at the end"],
      [
        messages.every((one) =>
          list(one["tool_calls"]).every((call) => text(fields(call)["id"]).length <= 40),
        ),
        "an id of more than 40 characters",
      ],
      [
        offered || (body["tool_choice"] === undefined && body["parallel_tool_calls"] === undefined),
        "a choice without tools",
      ],
      [list(body["stop"]).length <= 4, "more than four stop sequences"],
      [
        !offered || list(body["tools"]).every((tool) => fields(tool)["type"] === "function"),
        "a tool is no function",
      ],
    ]),
  ];
};

/** Gemini 3's: the first call of a turn is signed. */
export const geminiRules: RequestRules = (body) => {
  const contents = list(body["contents"]).map(fields);
  const faults: string[] = [];
  let waiting = 0;
  for (const [place, { role, parts }] of contents.entries()) {
    const said = list(parts).map(fields);
    const calls = said.filter((part) => "functionCall" in part);
    const results = said.filter((part) => "functionResponse" in part).length;
    const config = fields(body["generationConfig"]);
    faults.push(
      ...faultsOf([
        [role === (place % 2 === 0 ? "user" : "model"), "roles do not take turns"],
        [said.length > 0, "a turn is empty"],
        [results === waiting, "as many results as calls"],
        [calls.length === 0 || text(calls[0]?.["thoughtSignature"]) !== "", "the first call is not signed"],
        [
          config["responseJsonSchema"] === undefined || config["responseMimeType"] === "application/json",
          "a schema without its type",
        ],
      ]),
    );
    waiting = calls.length;
  }
  return [...faults, ...faultsOf([[contents.at(-1)?.["role"] === "user", "the model has the last word"]])];
};
