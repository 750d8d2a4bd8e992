import type { AnswerEvent, EmitEvent } from "../neutral/events.ts";
import type { Block, NeutralRequest } from "../neutral/request.ts";
import { markOf, originIn } from "./origin-mark.ts";

/** The account that serves, and whether others may serve the caller's later requests (BH-31). */
export interface Origin {
  readonly own: string;
  readonly shared: boolean;
}

const GOOGLE = "google-gemini-v1";

/**
 * The request with those of Google's signatures alone that this account made, as it made them: another's would make it refuse the
 * conversation. Anthropic's are good on every account and platform that has Claude.
 */
export function withOwnSignatures(request: NeutralRequest, origin: Origin | undefined): NeutralRequest {
  if (!request.turns.some(({ blocks }) => blocks.some(isGoogles))) return request;
  const turns = request.turns.map((turn) => {
    const blocks = turn.blocks.flatMap((block) => ownBlock(block, origin));
    return { ...turn, blocks };
  });
  return { ...request, turns };
}

/** Marks the signatures that are Google's with the account that made them. */
export function markSignatures(emit: EmitEvent, origin: Origin | undefined): EmitEvent {
  if (origin?.shared !== true) return emit;
  const mark = markOf(origin.own);
  return (event) => emit(markedEvent(event, mark));
}

function markedEvent(event: AnswerEvent, mark: string): AnswerEvent {
  switch (event.type) {
    case "signature":
      return event.format === GOOGLE ? { ...event, signature: mark + event.signature } : event;
    case "redacted":
      return event.format === GOOGLE ? { ...event, data: mark + event.data } : event;
    case "tool_start":
      return event.signature === undefined ? event : { ...event, signature: mark + event.signature };
    default:
      return event;
  }
}

function isGoogles(block: Block): boolean {
  if (block.kind === "tool_call") return block.signature !== undefined;
  return (block.kind === "thinking" || block.kind === "redacted") && block.format === GOOGLE;
}

function ownBlock(block: Block, origin: Origin | undefined): Block[] {
  if (!isGoogles(block)) return [block];
  if (block.kind === "tool_call" || block.kind === "thinking") {
    return [{ ...block, signature: ownSignature(block.signature, origin) }];
  }
  if (block.kind !== "redacted") return [block];
  const data = ownSignature(block.data, origin);
  return data === undefined ? [] : [{ ...block, data }];
}

/** Where several accounts may have served, nobody knows who made one without a mark. */
function ownSignature(signature: string | undefined, origin: Origin | undefined): string | undefined {
  if (signature === undefined) return undefined;
  const maker = originIn(signature);
  if (maker === undefined) return origin?.shared === true ? undefined : signature;
  return maker === origin?.own ? signature.slice(markOf(maker).length) : undefined;
}
