import { setFlagsFromString } from "node:v8";
import { run } from "./run.ts";

// Prompts are buffers outside of the heap. By default V8 counts them against a small fixed bound and collects the whole heap each
// time that they pass it, which is half of the work at 200 KB a request; so they bound the heap together with all else.
setFlagsFromString("--external-memory-accounted-in-global-limit");

await run(process.argv.slice(2));
