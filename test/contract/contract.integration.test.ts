import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ContractCase } from "./contract-case.ts";
import { CONTRACTS } from "./cases/index.ts";
import { nameOf, recorded } from "./recorded.ts";
import { createStage, registrationsOf } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { TRANSPORTS } from "./transports.ts";
import type { Clients, Transport } from "./transports.ts";

const GENERATED = join(import.meta.dirname, "../../packages/proto/src/gen");

/** Every service that has generated code, whether anything serves it or not. */
async function describedServices(): Promise<DescService[]> {
  const files = readdirSync(GENERATED, { recursive: true, encoding: "utf8" });
  const modules = await Promise.all(
    files
      .filter((path) => path.endsWith("_pb.ts"))
      .map((path): Promise<Record<string, { kind?: unknown }>> => import(join(GENERATED, path))),
  );
  return modules.flatMap((module) =>
    Object.values(module).filter((value): value is DescService => value?.kind === "service"),
  );
}

function holdsOn({ on }: ContractCase, { remote, streamsRequests }: Transport): boolean {
  return on === undefined || (on === "wire" ? remote : streamsRequests);
}

describe("every RPC", () => {
  it("has a contract with cases", async () => {
    const described = (await describedServices()).flatMap(({ methods }) => methods.map(nameOf));
    const covered = CONTRACTS.filter(({ cases }) => cases.length > 0).map(({ method }) => nameOf(method));
    expect(covered.toSorted()).toEqual(described.toSorted());
  });

  it("of the product is served", async () => {
    const stage = await createStage();
    const served = registrationsOf(stage.services).map(({ service }) => service.typeName);
    await stage.close();
    const described = (await describedServices()).map(({ typeName }) => typeName);
    expect(served.toSorted()).toEqual(described.filter((name) => name.startsWith("switchyard.")).toSorted());
  });
});

describe.each(TRANSPORTS)("$name", (transport) => {
  const owner = new DisposableStack();
  const called = new Set<string>();
  let stage: Stage;
  let clients: Clients;

  beforeAll(async () => {
    stage = await createStage(transport.stage);
    clients = recorded(transport.connect(stage, owner), called);
  });
  beforeEach(() => {
    called.clear();
    stage.reset();
  });
  afterAll(async () => {
    owner.dispose();
    await stage.close();
  });

  const held = CONTRACTS.map(({ method, cases }) => ({
    name: nameOf(method),
    cases: cases.filter((one) => holdsOn(one, transport)),
  })).filter(({ cases }) => cases.length > 0);
  describe.each(held)("$name", ({ name, cases }) => {
    it.each(cases)("$title", async (one) => {
      await one.run(clients, stage);
      expect(called).toContain(name);
    });
  });
});
