import type { FailedAttempt } from "../domain/attempt.ts";
import type { CallerKey, Group } from "../domain/config-snapshot.ts";
import type { RefusalCode, RefuseDecision } from "../domain/decision.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import type { RequestFacts } from "../domain/request-facts.ts";
import type { DecideInput } from "./input.ts";
import { nativeFamilies } from "./native.ts";
import type { Blocked } from "./stages.ts";

/** What a provider must have to serve an endpoint, as messages name it (R5). */
const NEED_OF: Readonly<Record<Exclude<Endpoint, "native">, string>> = {
  chat: "with the chat completions API",
  embeddings: "with the embeddings API",
  responses: "with the Responses API",
  messages: "with the Messages API",
  count_tokens: "with the token counting API",
};

/** 401: no key, or an unknown one. */
export function refuseKey(): RefuseDecision {
  return refuse(401, "invalid_api_key", "No valid API key was given. Send a key as `Authorization: Bearer`.");
}

/** R2: one answer whether the name exists or not; without a name, the list to choose from. */
export function refuseModel(key: CallerKey, model: string | undefined): RefuseDecision {
  const granted = key.groups.length === 0 ? "none" : key.groups.join(", ");
  const problem =
    model === undefined
      ? "The request names no `model`"
      : `The model \`${model.slice(0, 200)}\` is not allowed`;
  return refuse(403, "model_not_allowed", `${problem}. Models that this key may use: ${granted}.`);
}

/** P8: nobody knows which account keeps the response that the request names, or none here keeps any. */
export function refuseStored(group?: Group): RefuseDecision {
  const where = group === undefined ? "your groups" : `\`${group.name}\``;
  return refuse(
    400,
    "stored_response_not_routable",
    `No provider of ${where} is known to keep that response. Send the conversation in \`input\` instead.`,
    group,
  );
}

/** P8: one answer whether the response is another's or does not exist. */
export function refuseUnknownResponse(): RefuseDecision {
  return refuse(404, "not_found", "There is no such response, or this key is not granted its group.");
}

/** contracts 3: a path that the config does not name. */
export function refuseUnknownPath({ path }: RequestFacts): RefuseDecision {
  return refuse(404, "not_found", `There is no native endpoint at \`${path}\`.`);
}

/** The refusal of the filter that emptied a group (R1). */
export function refuseBlocked(
  input: DecideInput,
  group: Group,
  stage: Blocked,
  retryAfterMs: number | undefined,
): RefuseDecision {
  const { facts } = input.request;
  const name = group.name;
  switch (stage) {
    case "own_key":
      return refuse(
        400,
        "invalid_provider_key",
        `No deployment of \`${name}\` is at the provider that the key in \`x-provider-key\` belongs to.`,
        group,
      );
    case "endpoint":
      if (facts.storedResponse) return refuseStored(group);
      return refuse(
        400,
        facts.endpoint === "embeddings" ? "embeddings_not_supported" : "endpoint_not_supported",
        `No deployment of \`${name}\` serves ${facts.path}, which needs a provider ${needOf(input)}.`,
        group,
      );
    case "not_ready":
      return refuse(503, "provider_not_ready", `No provider of \`${name}\` is ready.`, group);
    case "paused":
      return refuse(
        503,
        "no_deployment_available",
        `No deployment of \`${name}\` is available: all are paused or weigh 0.`,
        group,
      );
    case "limited":
      return refuse(
        429,
        "rate_limit_exceeded",
        `All deployments of \`${name}\` are at their limits for this minute. Try again later.`,
        group,
        retryAfterMs,
      );
    default:
      return refuse(
        503,
        "upstream_unavailable",
        `All deployments of \`${name}\` are failing for the moment. Try again later.`,
        group,
        retryAfterMs,
      );
  }
}

function needOf(input: DecideInput): string {
  const { endpoint } = input.request.facts;
  if (endpoint !== "native") return NEED_OF[endpoint];
  return `of family ${[...(nativeFamilies(input) ?? [])].join(" or ")}`;
}

/** The request's time ran out before anything was attempted. */
export function refuseLate(group: Group): RefuseDecision {
  return refuse(
    504,
    "upstream_timeout",
    "The time for this request ran out before a provider was called.",
    group,
  );
}

/** Hedging: the attempt that runs goes on alone. */
export function refuseHedge(group: Group): RefuseDecision {
  return refuse(409, "not_hedged", "No second attempt is made.", group);
}

/** The caller went away: no one is left to answer. */
export function refuseCancelled(group: Group): RefuseDecision {
  return refuse(499, "client_closed", "The client closed the request.", group);
}

/** E8: a provider that does not answer in time is a 504 at once, whatever earlier attempts answered. */
export function refuseTimedOut(group: Group): RefuseDecision {
  return refuse(504, "upstream_timeout", "The provider did not answer in time.", group);
}

/** E7: something was called and nothing served. Holds only where no provider's real answer can be given. */
export function refuseExhausted(
  group: Group,
  lastCall: FailedAttempt,
  retryAfterMs: number | undefined,
): RefuseDecision {
  const base = { kind: "refuse", retryAfterMs, exhausted: true, group } as const;
  switch (lastCall.error) {
    case "timeout":
      return { ...base, status: 504, code: "upstream_timeout", message: "No provider answered in time." };
    case "invalid_response":
      return {
        ...base,
        status: 502,
        code: "upstream_invalid_response",
        message: "No provider gave a usable answer.",
      };
    default:
      return { ...base, status: 502, code: "upstream_unreachable", message: "No provider could be reached." };
  }
}

function refuse(
  status: number,
  code: RefusalCode,
  message: string,
  group?: Group,
  retryAfterMs?: number,
): RefuseDecision {
  return { kind: "refuse", status, code, message, retryAfterMs, exhausted: false, group };
}
