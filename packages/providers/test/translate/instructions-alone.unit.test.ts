import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { planOf, sent } from "../support/exchange.ts";

const SYSTEM = { role: "system", content: "Be kind." };
const DEVELOPER = { role: "developer", content: "Greet me." };

const told = (family: FamilyName, messages: object[], endpoint: "chat" | "responses" = "chat"): object =>
  sent(planOf(endpoint, family, { model: "g", [endpoint === "chat" ? "messages" : "input"]: messages })).json;

describe("P2: a request of instructions alone, which others answer only to a user", () => {
  it.each(["chat", "responses"] as const)("%s: the last is what the user says", (endpoint) => {
    expect(told("anthropic", [SYSTEM, DEVELOPER], endpoint)).toMatchObject({
      system: [{ type: "text", text: "Be kind." }],
      messages: [{ role: "user", content: [{ type: "text", text: "Greet me." }] }],
    });
    expect(told("gemini", [SYSTEM, DEVELOPER], endpoint)).toMatchObject({
      systemInstruction: { parts: [{ text: "Be kind." }] },
      contents: [{ role: "user", parts: [{ text: "Greet me." }] }],
    });
    expect(told("bedrock", [SYSTEM, DEVELOPER], endpoint)).toMatchObject({
      system: [{ text: "Be kind." }],
      messages: [{ role: "user", content: [{ text: "Greet me." }] }],
    });
  });

  it("one alone leaves no instructions", () => {
    const said = told("anthropic", [DEVELOPER]);
    expect(said).toMatchObject({ messages: [{ role: "user" }] });
    expect(said).not.toHaveProperty("system");
  });

  it("with a user all stay where they are", () => {
    expect(told("anthropic", [SYSTEM, { role: "user", content: "hi" }])).toMatchObject({
      system: [{ text: "Be kind." }],
      messages: [{ content: [{ text: "hi" }] }],
    });
  });

  it("those who answer them get them as they are", () => {
    expect(told("openai_compatible", [SYSTEM, DEVELOPER], "responses")).toMatchObject({
      messages: [{ role: "system", content: "Be kind.\n\nGreet me." }],
    });
  });
});
