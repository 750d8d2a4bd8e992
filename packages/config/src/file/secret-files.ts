import type { Config } from "@switchyard/proto/config/v1/config";

/** Paths of all files in which a config's secrets of providers and keys stand. */
export function secretFiles(config: Config): string[] {
  const sources = [
    ...config.providers.map(({ credential }) => credential?.source),
    ...config.keys.map(({ secret }) => secret?.source),
  ];
  return [...new Set(sources.flatMap((source) => (source?.case === "file" ? [source.value] : [])))];
}
