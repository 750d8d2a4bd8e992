import type { ErrorClass } from "@switchyard/core";

/** Which statuses a rule may speak for; `stream` is an error inside an answer that began with 2xx. */
export type At = (status: number) => boolean;

/** A sign in an error body and the class it stands for. */
export interface ErrorRule {
  readonly class: ErrorClass;
  readonly at: At;
  /** Over a normalised code (see `normaliseCode`) or over the lower-cased text of the body. */
  readonly pattern: RegExp;
}

const isSuccess: At = (status) => status >= 200 && status <= 299;
const isServerFault: At = (status) => status >= 500;

/** Every status. */
export const anywhere: At = () => true;
/** The statuses `context_length` and `content_filter` are bound to, and in-stream errors. */
export const bound: At = (status) =>
  status === 400 || status === 403 || status === 413 || status === 422 || isSuccess(status);
/** Statuses that do not speak for themselves: the body may name what is really wrong. */
export const vague: At = (status) =>
  (status >= 400 && status <= 499 && status !== 401 && status !== 429) || isSuccess(status);
/** As `vague`, but a 403 keeps its own meaning. */
export const vagueButForbidden: At = (status) => vague(status) && status !== 403;
/** Any refusal that is the caller's or the account's: not 429, no fault of the provider. */
export const refusal: At = (status) => !isServerFault(status) && status !== 429;
/** A malformed request by status, or an in-stream error. */
export const badRequest: At = (status) =>
  status === 400 || status === 422 || status === 424 || isSuccess(status);
/** An error inside an answer that began with 2xx. */
export const afterSuccess: At = isSuccess;

/** Lower case, without namespace, link or punctuation: `x.y#Foo_Bar:http://…` becomes `foobar`. */
export function normaliseCode(code: string): string {
  const afterHash = code.slice(code.lastIndexOf("#") + 1);
  const beforeLink = afterHash.split(":", 1)[0] ?? "";
  return beforeLink.toLowerCase().replace(/[^a-z0-9]/g, "");
}
