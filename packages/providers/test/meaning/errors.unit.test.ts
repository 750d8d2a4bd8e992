import { describe, expect, it } from "vitest";
import { readError } from "./error-reader.ts";
import { pairs } from "./recorded.ts";
import { fields, parse } from "./values.ts";

const ERRORS = pairs().pairs.filter(({ status }) => status !== 200);

/** Anthropic's published table. */
const ANTHROPIC: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  422: "invalid_request_error",
  429: "rate_limit_error",
  500: "api_error",
  503: "overloaded_error",
  529: "overloaded_error",
};

describe("errors keep what the provider said", () => {
  it.each(ERRORS)("P5: $name in $dialect", ({ recorded, golden, dialect, status }) => {
    const [line = "", ...rest] = golden.split("\n");
    const told = readError(rest.join("\n"));
    const said = readError(new TextDecoder().decode(recorded.body));
    expect(Number(line)).toBe(status);
    // A page of HTML says what its text says.
    if (said.message !== "") expect(told.message).toBe(said.message);
    else expect(told.message.length).toBeGreaterThan(3);
    if (dialect === "messages") {
      expect(told.type).toBe(ANTHROPIC[status]);
      expect(fields(parse(rest.join("\n")))).toMatchObject({ type: "error", request_id: "req_1" });
      return;
    }
    if (said.type !== "") expect(told.type).toBe(said.type);
    expect({ code: told.code, param: told.param }).toEqual({ code: said.code, param: said.param });
  });
});
