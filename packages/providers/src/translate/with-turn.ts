import type { NeutralRequest } from "../neutral/request.ts";

/**
 * A request with a turn to answer. OpenAI's models answer instructions alone; targets that need a turn get them as the user's words, which
 * comes nearest.
 */
export function withTurn(request: NeutralRequest): NeutralRequest {
  const { system, turns } = request;
  if (turns.some(({ role }) => role !== "system")) return request;
  const blocks = [...system, ...turns.flatMap((turn) => turn.blocks)];
  const [first] = blocks;
  if (first === undefined) return request;
  return { ...request, system: [], turns: [{ role: "user", path: first.path, blocks }] };
}
