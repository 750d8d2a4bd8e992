import { defineConfig } from "rolldown";

export default defineConfig({
  input: "services/standalone/src/main.ts",
  platform: "node",
  output: { file: "services/standalone/dist/main.js", format: "esm", sourcemap: true },
});
