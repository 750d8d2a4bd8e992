import type { Header } from "@switchyard/proto/inference/v1/inference_service";

/** Whose shapes errors and error events take on a path; `responses` differs from `openai` only inside a stream. */
export type Face = "openai" | "responses" | "anthropic";

/** A path that is served. */
export interface Route {
  readonly face: Face;
  /** Methods in the form of the `Allow` header. */
  readonly allow: readonly string[];
}

const CREATE = ["POST"] as const;
const READ = ["GET", "HEAD"] as const;

const RESPONSES_CREATE: Route = { face: "responses", allow: CREATE };
const MODELS: Route = { face: "openai", allow: READ };
const STORED: Route = { face: "responses", allow: ["GET", "HEAD", "DELETE"] };
const STORED_ITEMS: Route = { face: "responses", allow: READ };
/** What is routed by the model that a body names can only be posted: nothing says where a GET or a DELETE would belong. */
const NATIVE: Route = { face: "openai", allow: CREATE };

const EXACT = new Map<string, Route>([
  ["/v1/chat/completions", { face: "openai", allow: CREATE }],
  ["/v1/embeddings", { face: "openai", allow: CREATE }],
  ["/v1/responses", RESPONSES_CREATE],
  ["/v1/messages", { face: "anthropic", allow: CREATE }],
  ["/v1/messages/count_tokens", { face: "anthropic", allow: CREATE }],
  ["/v1/models", MODELS],
]);

const MODEL_PREFIX = "/v1/models/";
const STORED_PREFIX = "/v1/responses/";

/** The route of one of the facade's own paths (contracts section 3), without regard to the method. */
export function findRoute(path: string): Route | undefined {
  const exact = EXACT.get(path);
  if (exact !== undefined) return exact;
  if (path.startsWith(MODEL_PREFIX) && path.length > MODEL_PREFIX.length) return MODELS;
  return path.startsWith(STORED_PREFIX) ? findStored(path.slice(STORED_PREFIX.length)) : undefined;
}

/** The route of a native endpoint; asked for after `findRoute`, so that a config cannot hide our paths. */
export function findNativeRoute(path: string, nativePaths: ReadonlySet<string>): Route | undefined {
  return nativePaths.has(path) ? NATIVE : undefined;
}

/** The shape of errors for one request. The list of models is both vendors', and clients of Anthropic's API say its version. */
export function faceFor(route: Route | undefined, path: string, headers: readonly Header[]): Face {
  if (route === MODELS && headers.some(({ name }) => name === "anthropic-version")) return "anthropic";
  return route?.face ?? faceOf(path);
}

/** The shape of errors on a path that nobody serves. */
export function faceOf(path: string): Face {
  if (isUnder(path, "/v1/messages")) return "anthropic";
  return isUnder(path, "/v1/responses") ? "responses" : "openai";
}

/** What to tell a caller whose base URL lacks `/v1` or has it twice; undefined when the path is no such mistake. */
export function suggestPath(path: string): string | undefined {
  const bare = path.replace(/^(?:\/v1)+(?=\/|$)/, "");
  const right = `/v1${bare}`;
  return right !== path && findRoute(right) !== undefined ? right : undefined;
}

/** A request target as path and query: an absolute form loses its origin, a path its last slash. */
export function splitTarget(target: string): { path: string; query: string } {
  const start = target.startsWith("/") ? 0 : originEnd(target);
  const mark = target.indexOf("?", start);
  const stop = mark === -1 ? target.length : mark;
  const end = stop - start > 1 && target.charCodeAt(stop - 1) === 0x2f ? stop - 1 : stop;
  const path = target.slice(start, end);
  return { path: path === "" ? "/" : path, query: mark === -1 ? "" : target.slice(mark + 1) };
}

function originEnd(target: string): number {
  const authority = target.indexOf("://");
  if (authority === -1) return 0;
  const slash = target.indexOf("/", authority + 3);
  if (slash !== -1) return slash;
  const mark = target.indexOf("?", authority + 3);
  return mark === -1 ? target.length : mark;
}

function findStored(rest: string): Route | undefined {
  const slash = rest.indexOf("/");
  if (slash === -1) return rest === "" ? undefined : STORED;
  if (slash === 0) return undefined;
  const action = rest.slice(slash + 1);
  if (action === "input_items") return STORED_ITEMS;
  return action === "cancel" ? RESPONSES_CREATE : undefined;
}

function isUnder(path: string, root: string): boolean {
  return path.startsWith(root) && (path.length === root.length || path.charCodeAt(root.length) === 0x2f);
}
