import { describe, expect, it } from "vitest";

import { eventually, startNode } from "../src/index.ts";

const SERVE = 'console.log("listening on 1234"); setInterval(() => {}, 1000);';

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("startNode", () => {
  it("waits for its line, captures both streams and stops on SIGTERM", async () => {
    const script = `process.on("SIGTERM", () => { console.error("drained"); process.exit(7); }); ${SERVE}`;
    const child = await startNode(["-e", script], { ready: /listening on (\d+)/ });
    expect((await child.waitForLine(/listening on (\d+)/))[1]).toBe("1234");
    expect(await child.stop()).toEqual({ code: 7, signal: null });
    expect(child.stderr).toContain("drained");
  });

  it("kills what does not stop", async () => {
    const child = await startNode(["-e", `process.on("SIGTERM", () => {}); ${SERVE}`], {
      ready: /listening/,
    });
    expect(await child.stop(50)).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("passes and removes environment variables", async () => {
    const env = { ADDED: "1", PATH: undefined };
    const child = await startNode(["-p", "`${process.env.ADDED} ${process.env.PATH}`"], { env });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stdout).toBe("1 undefined\n");
  });

  it("fails with the output when the child ends before its line", async () => {
    const starting = startNode(["-e", 'console.error("no config"); process.exit(2)'], { ready: /listening/ });
    await expect(starting).rejects.toThrow(/ended \(2\)[^]*no config/);
  });

  it("leaves no child behind when the line does not come", async () => {
    const starting = startNode(["-e", "console.log(process.pid); setInterval(() => {}, 1000)"], {
      ready: /never/,
      withinMs: 400,
    });
    const failure = await starting.then(
      () => "started",
      (error: Error) => error.message,
    );
    const pid = Number(/^(\d+)$/m.exec(failure)?.[1]);
    expect(pid).toBeGreaterThan(0);
    expect(runs(pid)).toBe(false);
  });

  it("the child ends when the process that started it is killed", async () => {
    const index = new URL("../src/index.ts", import.meta.url).href;
    const script = `const { startNode } = await import(${JSON.stringify(index)});
      const child = await startNode(["-e", ${JSON.stringify(SERVE)}], { ready: /listening/ });
      console.log("child " + child.pid);`;
    const parent = await startNode(["--input-type=module", "-e", script]);
    const pid = Number((await parent.waitForLine(/^child (\d+)/))[1]);
    parent.kill("SIGKILL");
    await parent.exited;
    await eventually(() => expect(runs(pid)).toBe(false));
  });
});
