import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Balancer } from "../src/client/balancer.ts";

const backoff = { firstMs: 100, maxMs: 400 };

describe("balancer", () => {
  test("takes turns among healthy servers", () => {
    const balancer = new Balancer(3, backoff);
    expect([0, 1, 2, 3].map(() => balancer.pick(0, 0))).toEqual([0, 1, 2, 0]);
  });

  test("leaves one that cannot be reached alone, then probes it by one call at a time", () => {
    const balancer = new Balancer(2, backoff);
    balancer.unreachable(0, 0);
    expect([balancer.pick(1, 0), balancer.pick(99, 0)]).toEqual([1, 1]);
    expect([balancer.pick(100, 0), balancer.pick(100, 0), balancer.pick(100, 0)]).toEqual([0, 1, 1]);
    balancer.reached(0);
    expect([balancer.pick(101, 0), balancer.pick(101, 0)]).toEqual([0, 1]);
  });

  test("leaves a frozen one alone until it speaks or is released, and takes it when there is no other", () => {
    const balancer = new Balancer(2, backoff);
    balancer.frozen(0);
    expect([balancer.pick(1e9, 0), balancer.pick(1e9, 0), balancer.pick(1e9, 2)]).toEqual([1, 1, 0]);
    balancer.released(0, 1e9);
    expect([balancer.pick(1e9, 0), balancer.pick(1e9, 0)]).toEqual([0, 1]);
    balancer.frozen(0);
    balancer.reached(0);
    expect([balancer.pick(1e9, 0), balancer.pick(1e9, 0)]).toContain(0);
  });

  test("prefers one that could not be reached to one that said that it leaves", () => {
    const balancer = new Balancer(2, backoff);
    for (let i = 0; i < 9; i += 1) balancer.unreachable(1, i * 1000);
    balancer.leaving(0, 8001);
    expect([balancer.pick(8001, 0), balancer.pick(8001, 2)]).toEqual([1, 0]);
    expect(balancer.pick(8401, 2)).toBe(0);
    balancer.reached(0);
    expect(balancer.pick(8401, 2)).toBe(0);
  });

  test("a probe that says nothing lets the next call probe", () => {
    const balancer = new Balancer(2, backoff);
    balancer.unreachable(0, 0);
    expect(balancer.pick(100, 0)).toBe(0);
    balancer.unknown(0);
    expect([balancer.pick(100, 0), balancer.pick(100, 0)]).toContain(0);
  });

  test("the back-off doubles to its bound, and calls that fail together count once", () => {
    const balancer = new Balancer(2, backoff);
    let now = 0;
    for (const wait of [100, 200, 400, 400]) {
      for (let i = 0; i < 5; i += 1) balancer.unreachable(0, now);
      expect([balancer.pick(now + wait - 1, 0), balancer.pick(now + wait - 1, 0)]).toEqual([1, 1]);
      now += wait;
      expect([balancer.pick(now, 0), balancer.pick(now, 0)]).toContain(0);
    }
  });

  test("with none left the soonest due is tried", () => {
    const balancer = new Balancer(2, backoff);
    balancer.unreachable(1, 0);
    balancer.unreachable(0, 50);
    expect(balancer.pick(60, 0)).toBe(1);
    expect(balancer.pick(60, 0b10)).toBe(0);
  });

  test("every server is offered once before none is, whatever happened", () => {
    const event = fc.record({
      server: fc.nat(4),
      kind: fc.constantFrom("reached" as const, "unreachable" as const, "unknown" as const, "pick" as const),
      wait: fc.nat(500),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(event), (count, events) => {
        const balancer = new Balancer(count, backoff);
        let now = 0;
        for (const { server, kind, wait } of events) {
          now += wait;
          const at = server % count;
          if (kind === "pick") balancer.pick(now, 0);
          else if (kind === "unreachable") balancer.unreachable(at, now);
          else balancer[kind](at);
        }
        let tried = 0;
        for (let i = 0; i < count; i += 1) {
          const picked = balancer.pick(now, tried);
          expect(picked).toBeDefined();
          expect(tried & (1 << (picked as number))).toBe(0);
          tried |= 1 << (picked as number);
        }
        expect(balancer.pick(now, tried)).toBeUndefined();
      }),
    );
  });
});
