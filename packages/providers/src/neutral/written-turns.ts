import type { Block, Turn } from "./request.ts";

/** A message of an API whose roles take turns. */
export interface WrittenTurn<Content> {
  readonly role: "user" | "assistant";
  readonly content: Content[];
}

/**
 * Writes turns for an API whose roles take turns: those of one role in a row become one, one of which nothing is left
 * lets those around it meet, and results of tools stand first in the turn after their calls, in the calls' order
 * (BH-21). Instructions have no turn.
 */
export function writtenTurns<Content>(
  turns: readonly Turn[],
  write: (block: Block) => readonly Content[],
): WrittenTurn<Content>[] {
  const messages: WrittenTurn<Content>[] = [];
  let calls: readonly string[] = [];
  for (const { role, blocks } of merged(turns)) {
    const ordered = role === "user" ? withResultsFirst(blocks, calls) : blocks;
    calls = blocks.flatMap((block) => (block.kind === "tool_call" ? [block.id] : []));
    const content = ordered.flatMap((block) => write(block));
    const last = messages.at(-1);
    if (content.length === 0) continue;
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }
  return messages;
}

function merged(turns: readonly Turn[]): WrittenBlocks[] {
  const all: WrittenBlocks[] = [];
  for (const { role, blocks } of turns) {
    if (role === "system") continue;
    const last = all.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else all.push({ role, blocks: [...blocks] });
  }
  return all;
}

interface WrittenBlocks {
  readonly role: "user" | "assistant";
  readonly blocks: Block[];
}

function withResultsFirst(blocks: readonly Block[], calls: readonly string[]): readonly Block[] {
  const results = blocks.filter((block) => block.kind === "tool_result");
  if (results.length === 0) return blocks;
  const place = (id: string): number => {
    const at = calls.indexOf(id);
    return at < 0 ? calls.length : at;
  };
  const rest = blocks.filter((block) => block.kind !== "tool_result");
  return [...results.toSorted((a, b) => place(a.id) - place(b.id)), ...rest];
}
