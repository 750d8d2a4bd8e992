import { defineConfig } from "rolldown";

export default defineConfig({
  input: "services/standalone/src/main.ts",
  platform: "node",
  // Not one file: what is loaded only when it is asked for, such as tracing, stays apart.
  output: {
    dir: "services/standalone/dist",
    entryFileNames: "main.js",
    chunkFileNames: "[name].js",
    format: "esm",
    sourcemap: true,
  },
});
