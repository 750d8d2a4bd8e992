import type { Endpoint } from "@switchyard/core";
import type { Pieces } from "../json/splice.ts";
import type { FamilyName } from "./capabilities.ts";

/** Where and as whom a provider is called. Never edited; a config change makes a new one. */
export interface ProviderAccount {
  /** The family's own address when absent. With or without a path or a slash at its end. */
  readonly baseUrl?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  readonly location?: string | undefined;
  /** AWS's, as `us-east-1`. */
  readonly region?: string | undefined;
  /** What the account serves itself, where that differs from its family. */
  readonly endpoints?: readonly Endpoint[] | undefined;
}

/** What is spoken on the wire: an endpoint of ours where a family has it itself, else an API of the family's own. */
export type Wire = Endpoint | "converse" | "generate_content";

/** One attempt's request, before it has an address. */
export interface ProviderRequestInput {
  /** What the family speaks, as its `wireOf` said. */
  readonly endpoint: Wire;
  /** The caller spoke another dialect, so headers of that dialect say nothing here. Absent means no. */
  readonly translated?: boolean | undefined;
  /** The answer is to stream: some APIs have a path of its own for that. Absent means no. */
  readonly stream?: boolean | undefined;
  readonly account: ProviderAccount;
  /** The provider's name of the model. */
  readonly model: string;
  /** Final: already says `model` (see `rewriteBody`). */
  readonly body: Pieces;
  /** Of the caller's URL, without the question mark. */
  readonly query: string;
  /** Absent for accounts that need none. Goes into a header and nowhere else (P9, BH-37). */
  readonly secret: string | undefined;
  /** The secret is a token that the account's credential stands for (see {@link Family.tokens}). Absent: its form tells. */
  readonly secretIsToken?: boolean | undefined;
  /** The caller's headers as they came, flat: name, value, … */
  readonly callerHeaders: readonly string[];
  /** Responses: what is asked of one that is stored, below the endpoint's path. Absent: one is to be made. */
  readonly stored?: StoredCall | undefined;
  /** Native endpoints: the path as called, which is forwarded as it is. */
  readonly nativePath?: string | undefined;
}

/** A call about a stored response (P8). */
export interface StoredCall {
  readonly method: "GET" | "DELETE" | "POST";
  /** As called, below `/v1/responses`: `/resp_1`, `/resp_1/input_items`, `/resp_1/cancel`. */
  readonly path: string;
}

/** What a request is signed with before it is sent. Holds the secret: not for logs. */
export interface AwsSigning {
  /** Name of the service in the signature's scope. */
  readonly service: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/** One HTTP request to a provider. */
export interface ProviderRequest {
  readonly method: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Flat: name, value, …; all of them but host and framing. Holds the secret: not for logs. */
  readonly headers: readonly string[];
  readonly body: Pieces;
  /** Its sender signs it (SigV4) and adds what that gives to the headers. Absent: nothing is to be signed. */
  readonly signing?: AwsSigning | undefined;
}

/** How a provider family is called. Its folder has the same files as every other's. */
export interface Family {
  readonly name: FamilyName;
  /**
   * Whose tokens or keys an account sends that names no secret, or one that is not sent itself: whoever sends gets them, and gives one as
   * the secret.
   */
  readonly tokens?: "google" | "aws" | "entra" | undefined;
  /** What a caller's endpoint is served by: the endpoint itself, or what it is translated to (R5). Throws a {@link FamilyError} for neither. */
  wireOf(asked: {
    readonly endpoint: Endpoint;
    readonly account: ProviderAccount;
    readonly model: string;
  }): Wire;
  /** Throws a {@link FamilyError} for an endpoint that the family does not serve, or an account without an address. */
  buildRequest(input: ProviderRequestInput): ProviderRequest;
}

/** A request that should not have been routed here, or an account that the config should not have let through. */
export class FamilyError extends Error {
  override readonly name = "FamilyError";
}
