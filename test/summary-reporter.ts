import type { SerializedError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";

/** Counts of one run. A file or suite that broke outside its tests counts as one failure. */
export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** One line for each failure that no test shows: a file that did not load, a hook, an unhandled error. */
  readonly outsideTests: readonly string[];
}

function firstLine(error: { readonly message?: string } | undefined): string {
  return (error?.message ?? "unknown error").split("\n", 1)[0] ?? "";
}

export function summarize(
  modules: readonly TestModule[],
  unhandledErrors: readonly { readonly message?: string }[],
): Summary {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  const outsideTests = unhandledErrors.map((error) => `unhandled error: ${firstLine(error)}`);
  for (const testModule of modules) {
    const errors = testModule.errors();
    if (errors.length > 0) outsideTests.push(`${testModule.relativeModuleId}: ${firstLine(errors[0])}`);
    for (const suite of testModule.children.allSuites()) {
      const [error] = suite.errors();
      if (error !== undefined)
        outsideTests.push(`${testModule.relativeModuleId} > ${suite.fullName}: ${firstLine(error)}`);
    }
    for (const testCase of testModule.children.allTests()) {
      const { state } = testCase.result();
      if (state === "passed") passed += 1;
      else if (state === "skipped") skipped += 1;
      // "pending" at the end of a run: the test was started and never came to an end.
      else failed += 1;
    }
  }
  return { passed, failed: failed + outsideTests.length, skipped, outsideTests };
}

/** Closes a run with `N passed, N failed, N skipped` alone on a line, for machines to read. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const summary = summarize(modules, unhandledErrors);
    for (const line of summary.outsideTests) console.log(`failed outside a test: ${line}`);
    console.log(`${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped`);
  }
}
