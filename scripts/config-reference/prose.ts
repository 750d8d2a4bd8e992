/** How a file is written, before the fields. */
export const INTRODUCTION = `# Config reference

Every field of a config. \`pnpm gen:docs\` writes this page from the comments and rules in \`proto/switchyard/config/v1\` and from
the presets. [README](../README.md#configure-it) has examples.

- A config is YAML 1.2 or JSON, at most 16 MiB. \`switchyard validate FILE\` names every fault with its path.
- An unknown field is a fault, and the nearest known one is named. \`null\` means absent.
- A time is a number with a unit: \`250ms\`, \`1.5s\`, \`5m\`, \`1h\`; at most \`24h\`.
- A secret never stands in a config, only where it is read.
- Editors complete and mark a config by \`config.schema.json\`: with \`# yaml-language-server: $schema=PATH\` as the first line of YAML,
  with \`"$schema": "PATH"\` in JSON.
- [Policy](#policy) has a table of what each preset sets at [Presets](#presets).
`;

/** Before the table of presets. */
export const PRESETS = `## Presets

What a policy has where its group says nothing else. \`hedge\` and \`cache\` are off, and none has a \`retry.budget\`, a \`fallback\` or
a \`bench.table\`.
`;
