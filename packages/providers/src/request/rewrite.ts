import { walkObject } from "../json/scan.ts";
import { skipSpace } from "../json/skip.ts";
import { type Edit, type Pieces, spliceInPieces } from "../json/splice.ts";
import { encodeUtf8 } from "../json/text.ts";
import type { BodyFacts } from "./facts.ts";
import { MODEL, MODEL_IN_OTHER_CASE, REQUEST_KEYS, STREAM_OPTIONS, STREAM_OPTIONS_KEYS } from "./keys.ts";

/** What a body must say when it goes to a deployment. */
export interface BodyRewrite {
  /** The provider's name of the model. */
  readonly model: string;
  /** Ask the provider for stream usage (P4). */
  readonly askUsage: boolean;
  /** A body without a `model` stays without. Absent: it gets one. */
  readonly addsNoModel?: boolean | undefined;
}

const INCLUDE_USAGE = encodeUtf8('{"include_usage":true}');
const TRUE = encodeUtf8("true");

/**
 * The caller's bytes with `model` replaced, or put in where it was missing, and where asked `stream_options.include_usage` set; all
 * else stays byte for byte (P1). Every occurrence of `model` changes, in any case, so that no provider's parser sees another model than
 * the one that was routed. Bytes that already say it all come back as they are.
 */
export function rewriteBody(bytes: Uint8Array, facts: BodyFacts, rewrite: BodyRewrite): Pieces {
  const { layout } = facts;
  const askUsage = rewrite.askUsage && !(facts.usageAsked && !layout.streamOptionsRepeated);
  const setModel = facts.model !== rewrite.model || layout.modelRepeated;
  if (!setModel && !askUsage) return bytes;

  const model = encodeUtf8(JSON.stringify(rewrite.model));
  const edits: Edit[] = [];
  const missing: string[] = [];
  if (setModel && layout.model === undefined && rewrite.addsNoModel !== true)
    missing.push(`"model":${JSON.stringify(rewrite.model)}`);
  if (askUsage && layout.streamOptions === undefined) missing.push('"stream_options":{"include_usage":true}');
  if (missing.length > 0) edits.push(insertMembers(bytes, layout.open, missing));

  if (layout.modelRepeated || layout.streamOptionsRepeated || layout.model === undefined) {
    const sink = {
      set(index: number, start: number, end: number): void {
        if (setModel && (index === MODEL || index === MODEL_IN_OTHER_CASE))
          edits.push({ start, end, replacement: model });
        if (index === STREAM_OPTIONS && askUsage) pushUsageEdits(bytes, start, end, edits);
      },
    };
    walkObject(bytes, layout.open, bytes.length, REQUEST_KEYS, 1, sink);
  } else {
    if (setModel) edits.push({ ...layout.model, replacement: model });
    if (askUsage && layout.streamOptions !== undefined) {
      pushUsageEdits(bytes, layout.streamOptions.start, layout.streamOptions.end, edits);
    }
  }
  edits.sort((left, right) => left.start - right.start);
  return spliceInPieces(bytes, edits);
}

function insertMembers(bytes: Uint8Array, open: number, members: readonly string[]): Edit {
  const isEmpty = bytes[skipSpace(bytes, open + 1, bytes.length)] === 0x7d;
  return {
    start: open + 1,
    end: open + 1,
    replacement: encodeUtf8(members.join(",") + (isEmpty ? "" : ",")),
  };
}

/** Edits that make one value of `stream_options` ask for usage. A value of another kind is left for the provider to refuse. */
function pushUsageEdits(bytes: Uint8Array, start: number, end: number, edits: Edit[]): void {
  if (bytes[start] === 0x6e) {
    edits.push({ start, end, replacement: INCLUDE_USAGE });
    return;
  }
  if (bytes[start] !== 0x7b) return;
  let found = false;
  const sink = {
    set(_index: number, valueStart: number, valueEnd: number): void {
      found = true;
      edits.push({ start: valueStart, end: valueEnd, replacement: TRUE });
    },
  };
  walkObject(bytes, start, end, STREAM_OPTIONS_KEYS, 2, sink);
  if (!found) edits.push(insertMembers(bytes, start, ['"include_usage":true']));
}
