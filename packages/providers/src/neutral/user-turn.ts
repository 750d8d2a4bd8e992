import type { NeutralRequest } from "./request.ts";

/**
 * P2: a request of instructions alone, which OpenAI's models answer, for APIs that answer a user only: the last instruction becomes what
 * the user says.
 */
export function withUserTurn(request: NeutralRequest): NeutralRequest {
  const last = request.system.at(-1);
  if (last === undefined || request.turns.length > 0) return request;
  return {
    ...request,
    system: request.system.slice(0, -1),
    turns: [{ role: "user", path: last.path, blocks: [last] }],
  };
}
