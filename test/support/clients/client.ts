import type { Feature } from "../vendors/model.ts";

export interface Wish {
  readonly http: string;
  readonly key: string;
  readonly model: string;
  readonly feature: Feature;
  readonly stream: boolean;
}

export interface HeardCall {
  readonly name: string;
  readonly args: unknown;
}

/** What a caller heard, of whatever dialect. */
export interface Heard {
  /** Text of the last answer. */
  readonly text: string;
  /** Thinking of the first answer. */
  readonly thinking: string;
  /** Calls of the first answer. */
  readonly calls: readonly HeardCall[];
  /** Why the first answer ended, in OpenAI's words. */
  readonly finish: string;
  /** Of the first answer, as OpenAI counts: cached ones in `input`. */
  readonly usage: { readonly input: number; readonly cached: number; readonly output: number };
}

/** What an SDK threw. */
export interface Thrown {
  /** Name of the SDK's class. */
  readonly thrown: string;
  readonly status: number | undefined;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** An SDK as its users use it. */
export interface Client {
  readonly name: string;
  readonly dialect: "chat" | "messages" | "responses";
  /** Gives back the thinking that it was given. */
  readonly echoes: boolean;
  talk(wish: Wish): Promise<Heard>;
  /** Streams and leaves at the first text. */
  leave(wish: Wish): Promise<void>;
  /** An error of the SDK, read. */
  read(error: unknown): Thrown;
}

/** What the user says: the script knows the feature by it. */
export function promptOf({ feature }: Wish, echoes: boolean): string {
  return feature === "thinking" && !echoes ? "thinking again" : feature;
}

export function usesTools({ feature }: Wish): boolean {
  return feature === "tools" || feature === "thinking";
}
