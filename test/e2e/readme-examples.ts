import { Readme } from "./readme-blocks.ts";

export const readme: Readme = new Readme();

// In the order in which they stand; `readme.e2e.test.ts` shows that none is left.
export const START: string = readme.take("Try it", "sh");
export const CURL: string = readme.take("Try it", "sh");
export const ATTEMPTS: string = readme.take("Try it", "json");
export const TEST: string = readme.take("Try it", "sh");
export const DIAGRAM: string = readme.take("A request's way", "");
export const CONFIG: string = readme.take("Configure it", "yaml");
export const VALIDATE_AND_SERVE: string = readme.take("Configure it", "sh");
export const EXPLAIN: string = readme.take("Configure it", "sh");
export const PRICE: string = readme.take("Configure it", "yaml");
export const POLICY: string = readme.take("Configure it", "yaml");
export const NATIVE: string = readme.take("Configure it", "yaml");
export const REPLAY: string = readme.take("Configure it", "sh");
export const TYPESCRIPT: string = readme.take("Use it from SDKs", "ts");
export const PYTHON: string = readme.take("Use it from SDKs", "python");
export const CLAUDE_CODE: string = readme.take("Use it from SDKs", "sh");
export const CODEX: string = readme.take("Use it from SDKs", "toml");
export const CLUSTER: string = readme.take("Run it", "yaml");
export const FOUR: string = readme.take("Run it", "sh");
export const DECIDE: string = readme.take("Call it over RPC", "sh");
export const BENCH: string = readme.take("Measure it", "sh");
