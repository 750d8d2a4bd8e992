import { type Asked, type Part, settled } from "./conversation.ts";

/** Thinking goes only to who signed it. */
export function unthought(asked: Asked): Asked {
  const isSaid = ({ kind }: Part): boolean => kind !== "thinking" && kind !== "redacted";
  return { ...asked, turns: asked.turns.map(({ role, parts }) => ({ role, parts: parts.filter(isSaid) })) };
}

/** Who has no cache to point at, or finds by itself what to keep. */
export function uncached(asked: Asked): Asked {
  const unmarked = (part: Part): Part => (part.kind === "text" ? { kind: "text", text: part.text } : part);
  return { ...asked, turns: asked.turns.map(({ role, parts }) => ({ role, parts: parts.map(unmarked) })) };
}

/**
 * Requests that are worded in several ways, in one: one system prompt; what happens unasked (temperature and `top_p` of 1, `auto`,
 * several calls at once); tools that must not be called and never were, which are as good as none; instructions alone, which are what
 * the user says.
 */
export function plain(asked: Asked): unknown {
  const turns = settled(asked.turns.filter(({ role }) => role !== "system"));
  const called = turns.some(({ parts }) => parts.some(({ kind }) => kind === "call"));
  const offered = asked.choice !== "none" || called;
  const system = asked.system.join("\n\n");
  const alone = turns.length === 0;
  return {
    ...asked,
    system: alone ? "" : system,
    temperature: asked.temperature === 1 ? undefined : asked.temperature,
    topP: asked.topP === 1 ? undefined : asked.topP,
    turns: alone ? [{ role: "user", parts: [{ kind: "text", text: system }] }] : turns,
    tools: offered ? asked.tools : [],
    choice: offered && asked.choice !== "auto" ? asked.choice : undefined,
    parallel: asked.choice !== "none" && asked.parallel === false ? false : undefined,
  };
}
