import type { Json, JsonNumber, JsonObject } from "../json/lossless.ts";
import type { ThinkingFormat } from "./events.ts";

interface Located {
  /** Where it stands in the caller's body, for refusals. */
  readonly path: string;
  /** Anthropic's cache breakpoint after this block, as it came (BH-25). */
  readonly cacheControl?: Json | undefined;
}

/** Where the bytes of an image or a document are. */
export type Source =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "text"; readonly text: string };

/** Plain text. */
export interface TextBlock extends Located {
  readonly kind: "text";
  readonly text: string;
}

/** A picture. */
export interface ImageBlock extends Located {
  readonly kind: "image";
  readonly source: Source;
}

/** A file to read. */
export interface DocumentBlock extends Located {
  readonly kind: "document";
  readonly source: Source;
  /** File name or title. */
  readonly title: string | undefined;
  /** The caller wants answers that cite it. */
  readonly cited: boolean;
}

/** Sound to hear. */
export interface AudioBlock extends Located {
  readonly kind: "audio";
  readonly format: string;
  /** Base64. */
  readonly data: string;
}

/** Reasoning that the caller gives back. Only what is signed is worth anything to the vendor that signed it. */
export interface ThinkingBlock extends Located {
  readonly kind: "thinking";
  readonly text: string;
  /** Absent: nobody can check it, so no target gets it. */
  readonly signature: string | undefined;
  /** Who signed it; absent: Anthropic, whose dialect does not say. */
  readonly format?: ThinkingFormat | undefined;
}

/** Reasoning that only its vendor can read. */
export interface RedactedBlock extends Located {
  readonly kind: "redacted";
  readonly data: string;
  /** Who can read it; absent: Anthropic, whose dialect does not say. */
  readonly format?: ThinkingFormat | undefined;
}

/** A call of a function, as the model made it. */
export interface ToolCallBlock extends Located {
  readonly kind: "tool_call";
  readonly id: string;
  readonly name: string;
  /** An object; its numbers keep their digits (BH-28). */
  readonly input: JsonObject;
  /** Google's signature of the call (BH-26). */
  readonly signature?: string | undefined;
}

/** What a called function gave. */
export interface ToolResultBlock extends Located {
  readonly kind: "tool_result";
  /** Id of the call that it answers. */
  readonly id: string;
  readonly content: readonly (TextBlock | ImageBlock | DocumentBlock)[];
  readonly isError: boolean;
}

/** A block that only its own dialect knows (server tools and their results, …). */
export interface OtherBlock extends Located {
  readonly kind: "other";
  readonly type: string;
}

/** One piece of a turn. */
export type Block =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | AudioBlock
  | ThinkingBlock
  | RedactedBlock
  | ToolCallBlock
  | ToolResultBlock
  | OtherBlock;

/** Consecutive turns may have the same role; results of tools stand in user turns. */
export interface Turn {
  readonly role: "user" | "assistant" | "system";
  readonly path: string;
  readonly blocks: readonly Block[];
}

/** A function that the model may call. */
export interface Tool extends Located {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON schema of its arguments; an object schema without properties where the caller gave none. */
  readonly schema: JsonObject;
  readonly strict: boolean | undefined;
}

/** Whether the model is to call a function, and which. */
export type ToolChoice =
  | { readonly mode: "auto" | "required" | "none" }
  | { readonly mode: "tool"; readonly name: string };

/** The form that the answer must have. */
export type AnswerFormat = { readonly kind: "json" } | SchemaFormat;

/** JSON of a schema. */
export interface SchemaFormat {
  readonly kind: "schema";
  readonly schema: JsonObject;
  readonly name: string | undefined;
  /** What the form is for, beside what the schema itself says. */
  readonly description?: string | undefined;
  /** Whether the answer has to follow the schema; absent: as strictly as the target can. */
  readonly strict?: boolean | undefined;
}

/** How much to think, in words of any of the dialects. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** How much the model is to think. All absent: as the model does by itself. */
export interface Reasoning {
  readonly path: string;
  readonly off: boolean;
  readonly effort: Effort | undefined;
  /** Anthropic's budget, tokens. */
  readonly budget: number | undefined;
  /** Said in Anthropic's own dialect, where effort alone asks for no thinking, and how thinking is shown is said apart. */
  readonly anthropic?: { readonly thinks: boolean; readonly display: string | undefined };
}

/**
 * One request in no vendor's words. A caller's format reads its body into it, a provider's writes it. It can hold all that any of them
 * says; what a target can't say, its writer refuses by the path that stands here (P2).
 */
export interface NeutralRequest {
  /** Instructions before the first turn. */
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  /** Whether several calls at once are allowed; absent when the caller did not say (BH-23). */
  readonly parallelTools: boolean | undefined;
  /** Bound on output tokens, thinking included. */
  readonly maxTokens: JsonNumber | undefined;
  readonly temperature: JsonNumber | undefined;
  readonly topP: JsonNumber | undefined;
  readonly topK: JsonNumber | undefined;
  readonly stop: readonly string[];
  readonly format: AnswerFormat | undefined;
  readonly reasoning: Reasoning | undefined;
  /** The caller's own name for its end user. */
  readonly user: string | undefined;
  readonly serviceTier: "auto" | "standard" | undefined;
  readonly stream: boolean;
  /** Top-level fields of the caller that only some targets know, by name. A writer takes those it can say and refuses the rest. */
  readonly extras: JsonObject;
}
