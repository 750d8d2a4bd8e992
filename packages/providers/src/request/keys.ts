import { KeyTable } from "../json/key-table.ts";

/** Top-level keys that routing reads from a body, whatever its endpoint. `model` is watched in other spellings too. */
export const REQUEST_KEYS = new KeyTable(
  [
    "model",
    "stream",
    "messages",
    "input",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "stream_options",
    "prompt_cache_key",
    "user",
    "metadata",
    "encoding_format",
    "system",
    "instructions",
    "previous_response_id",
    "conversation",
    "store",
  ],
  "model",
);

export const MODEL = 0;
export const STREAM = 1;
export const MESSAGES = 2;
export const INPUT = 3;
export const MAX_TOKENS = 4;
export const MAX_COMPLETION_TOKENS = 5;
export const MAX_OUTPUT_TOKENS = 6;
export const STREAM_OPTIONS = 7;
export const PROMPT_CACHE_KEY = 8;
export const USER = 9;
export const METADATA = 10;
export const ENCODING_FORMAT = 11;
export const SYSTEM = 12;
export const INSTRUCTIONS = 13;
export const PREVIOUS_RESPONSE = 14;
export const CONVERSATION = 15;
export const STORE = 16;
export const MODEL_IN_OTHER_CASE = 17;

export const STREAM_OPTIONS_KEYS = new KeyTable(["include_usage"]);

/** Of a `conversation` that is an object. */
export const CONVERSATION_KEYS = new KeyTable(["id"]);
