/** How a file is written, before the fields. */
export const INTRODUCTION = `# Config reference

Every field of a config. \`pnpm gen:docs\` writes this page from the comments and rules in \`proto/switchyard/config/v1\` and from
the presets; a test holds them together. [README](../README.md#configure-it) has examples.

- A config is YAML 1.2 or JSON, at most 16 MiB. \`switchyard validate FILE\` names every fault with its path.
- A field that is not known is a fault, and the nearest known one is named. \`null\` means absent.
- A time is a number with a unit: \`250ms\`, \`1.5s\`, \`5m\`, \`1h\`; at most \`24h\`. \`0s\` switches a bound off where its field says so.
- Names of values are written as here: \`weighted\`, \`azure_openai\`.
- Secrets never stand in a config, only where they are read.
`;

/** Before the table of presets. */
export const PRESETS = `## Presets

What a policy has where its group says nothing else. A \`retry.budget\`, \`fallback\` and \`bench.table\` are in no preset.`;
