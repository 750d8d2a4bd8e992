import type { AttemptSpanEnd, AttemptStart, RequestEnd, RequestStart } from "./tracer.ts";

// The one place that names attributes: the GenAI conventions are still in development (read 2026-11), and change.

export type SpanAttributes = Record<string, string | number | boolean>;

/** Values of `gen_ai.provider.name`, where they differ from a family's name. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  azure_openai: "azure.ai.openai",
  bedrock: "aws.bedrock",
  vertex: "gcp.vertex_ai",
  gemini: "gcp.gemini",
  mistral: "mistral_ai",
  xai: "x_ai",
};

/** Any other is text of the caller's. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export function requestStartAttributes(start: RequestStart): SpanAttributes {
  return present({
    "http.request.method": METHODS.has(start.method) ? start.method : "_OTHER",
    "http.route": start.route,
    "gen_ai.operation.name": start.operation,
    "gen_ai.request.stream": start.operation === undefined ? undefined : start.stream,
    "switchyard.request.id": start.requestId,
  });
}

export function requestEndAttributes(end: RequestEnd): SpanAttributes {
  return present({
    "http.response.status_code": end.status,
    "error.type": end.error,
    "gen_ai.request.model": end.askedGroup,
    "gen_ai.response.model": end.model,
    "gateway.fallback_kind": end.fallbackKind,
    "gateway.refusal": end.refusal,
    "switchyard.route.group": end.group,
    "switchyard.route.strategy": end.strategy,
    "switchyard.route.affinity": end.affinity,
    "switchyard.route.deployment": end.deployment,
    "switchyard.route.next": end.next,
    "switchyard.route.attempts": end.attempts,
    "switchyard.route.config_revision": end.configRevision,
    "switchyard.key": end.key,
    "switchyard.team": end.team,
    "switchyard.cost_usd": end.costUsd,
  });
}

export function attemptStartAttributes(start: AttemptStart): SpanAttributes {
  return present({
    "gen_ai.operation.name": start.operation,
    "gen_ai.provider.name": PROVIDER_NAMES[start.family] ?? start.family,
    "gen_ai.request.model": start.model,
    "gen_ai.request.stream": start.stream,
    // By the HTTP conventions it is there only where something was sent before.
    "http.request.resend_count": start.resends === 0 ? undefined : start.resends,
    "gateway.fallback_kind": start.fallbackKind,
    "switchyard.route.group": start.group,
    "switchyard.route.deployment": start.deployment,
    "switchyard.route.step": start.step,
  });
}

export function attemptEndAttributes({ status, error, model, usage }: AttemptSpanEnd): SpanAttributes {
  return present({
    "http.response.status_code": status,
    "error.type": error,
    "gen_ai.response.model": model,
    "gen_ai.usage.input_tokens": usage?.input,
    "gen_ai.usage.output_tokens": usage?.output,
    "gen_ai.usage.cache_read.input_tokens": usage?.cached || undefined,
    "gen_ai.usage.cache_creation.input_tokens": usage?.cacheWritten || undefined,
    "gen_ai.usage.reasoning.output_tokens": usage?.reasoning || undefined,
    // The conventions have no word for audio.
    "switchyard.usage.audio.input_tokens": usage?.audioInput || undefined,
    "switchyard.usage.audio.output_tokens": usage?.audioOutput || undefined,
  });
}

/** `server.address` and `server.port` of an origin. */
export function serverAttributes(origin: string): SpanAttributes {
  const url = URL.parse(origin);
  if (url === null) return {};
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  return { "server.address": url.hostname.replace(/^\[|\]$/g, ""), "server.port": port };
}

/** @param seconds since the attempt began */
export function firstTokenAttributes(seconds: number): SpanAttributes {
  return { "gen_ai.response.time_to_first_chunk": seconds };
}

function present(attributes: Record<string, string | number | boolean | undefined>): SpanAttributes {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === "") delete attributes[name];
  }
  return attributes as SpanAttributes;
}
