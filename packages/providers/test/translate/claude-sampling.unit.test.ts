import { describe, expect, it } from "vitest";
import { planOf, sent } from "../support/exchange.ts";

const HI = [{ role: "user", content: "hi" }];
const told = (model: string, more: object): Record<string, unknown> =>
  sent(planOf("chat", "anthropic", { model: "g", messages: HI, ...more }, { model })).json;
const picked = ({ temperature, top_p, top_k }: Record<string, unknown>): unknown[] => [
  temperature,
  top_p,
  top_k,
];
const ALL = { temperature: 0.2, top_k: 7 };

describe("how Claude samples (P2)", () => {
  it.each([
    "m",
    "claude-3-5-haiku-latest",
    "claude-sonnet-4-20250514",
    "claude-opus-4-1",
    "claude-opus-4@20250514",
    "claude-opus-4-6",
    "claude-sonnet-4.5",
    "claude-haiku-4-5-20251001",
  ])("%s as was asked", (model) => {
    expect(picked(told(model, ALL))).toEqual([0.2, undefined, 7]);
    expect(picked(told(model, { top_p: 0.5 }))).toEqual([undefined, 0.5, undefined]);
  });

  it.each([
    "claude-opus-4-7",
    "claude-opus-4-8-20260801",
    "claude-opus-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5@20261001",
  ])("%s in the one way it has, since it refuses every word about it", (model) => {
    expect(picked(told(model, { ...ALL, top_p: 0.5 }))).toEqual([undefined, undefined, undefined]);
  });

  it("a 1 beside the other says nothing, and both would be refused", () => {
    expect(picked(told("m", { temperature: 0.2, top_p: 1 }))).toEqual([0.2, undefined, undefined]);
    expect(picked(told("m", { temperature: 1, top_p: 0.5 }))).toEqual([undefined, 0.5, undefined]);
    expect(picked(told("m", { temperature: 1 }))).toEqual([1, undefined, undefined]);
    expect(picked(told("m", { temperature: 0.2, top_p: 0.5 }))).toEqual([0.2, 0.5, undefined]);
  });

  it("on Bedrock too, where other makers' models get what was asked", () => {
    const asked = { model: "g", messages: HI, ...ALL, top_p: 0.5 };
    const converse = (model: string): Record<string, unknown> =>
      sent(planOf("chat", "bedrock", asked, { model })).json;
    const later = converse("us.anthropic.claude-opus-4-7-v1:0");
    expect(later).not.toHaveProperty("inferenceConfig");
    expect(later).not.toHaveProperty("additionalModelRequestFields");
    expect(converse("us.anthropic.claude-sonnet-4-5-20250929-v1:0")).toMatchObject({
      inferenceConfig: { temperature: 0.2, topP: 0.5 },
      additionalModelRequestFields: { top_k: 7 },
    });
    expect(converse("us.amazon.nova-pro-v1:0")).toMatchObject({
      inferenceConfig: { temperature: 0.2, topP: 0.5 },
    });
  });
});
