import { create } from "@bufbuild/protobuf";
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Status,
  HealthListRequestSchema,
} from "@switchyard/proto/grpc/health/v1/health";
import type { HealthCheckResponse } from "@switchyard/proto/grpc/health/v1/health";
import { ServerReflection } from "@switchyard/proto/grpc/reflection/v1/reflection";
import { ServerReflection as ServerReflectionAlpha } from "@switchyard/proto/grpc/reflection/v1alpha/reflection";
import { CallContext, Code, readStream } from "@switchyard/rpc";
import { expect } from "vitest";
import { caught } from "../contract-case.ts";
import type { MethodContract } from "../contract-case.ts";
import { registrationsOf } from "../stage.ts";
import type { Stage } from "../stage.ts";
import type { Reflection } from "../transports.ts";
import type { Clients } from "../transports.ts";

const namesOf = ({ services }: Stage): string[] =>
  registrationsOf(services).map(({ service }) => service.typeName);

function platformOf({ platform }: Clients): NonNullable<Clients["platform"]> {
  if (platform === undefined) throw new Error("only a server has it");
  return platform;
}

export const checkContract: MethodContract = {
  method: Health.method.check,
  cases: [
    {
      title: "the process and each of its services are SERVING, without a key",
      on: "wire",
      run: async (clients, stage) => {
        for (const service of ["", ...namesOf(stage)]) {
          const request = create(HealthCheckRequestSchema, { service });
          const { status } = await platformOf(clients).check(request, new CallContext());
          expect([service, status]).toEqual([service, Status.SERVING]);
        }
      },
    },
    {
      title: "another service is not found",
      on: "wire",
      run: async (clients) => {
        const request = create(HealthCheckRequestSchema, { service: "switchyard.Nothing" });
        const error = await caught(() => platformOf(clients).check(request, new CallContext()));
        expect(error.code).toBe(Code.NotFound);
      },
    },
  ],
};

export const listContract: MethodContract = {
  method: Health.method.list,
  cases: [
    {
      title: "lists the process and its services",
      on: "wire",
      run: async (clients, stage) => {
        const { statuses } = await platformOf(clients).list(
          create(HealthListRequestSchema),
          new CallContext(),
        );
        expect(Object.keys(statuses).toSorted()).toEqual(["", ...namesOf(stage)].toSorted());
      },
    },
  ],
};

export const watchContract: MethodContract = {
  method: Health.method.watch,
  cases: [
    {
      title: "tells the status, then every change of it",
      on: "wire",
      run: async (clients, { server }) => {
        const call = new CallContext();
        const request = create(HealthCheckRequestSchema);
        const statuses = readStream<HealthCheckResponse>(
          (sink) => platformOf(clients).watch(request, sink, call),
          { onLeave: () => call.cancel() },
        );
        expect((await statuses.next()).value?.status).toBe(Status.SERVING);
        server.setServing(false);
        expect((await statuses.next()).value?.status).toBe(Status.NOT_SERVING);
        server.setServing(true);
        expect((await statuses.next()).value?.status).toBe(Status.SERVING);
        await statuses.return(undefined);
      },
    },
  ],
};

function contractOf(reflection: Reflection): MethodContract {
  return {
    method: reflection.method.serverReflectionInfo,
    cases: [
      {
        title: "lists the services",
        on: "reflection",
        run: async ({ reflect }, stage) => {
          const all = [
            ...namesOf(stage),
            Health.typeName,
            ServerReflection.typeName,
            ServerReflectionAlpha.typeName,
          ];
          expect((await reflect?.(reflection))?.toSorted()).toEqual(all.toSorted());
        },
      },
    ],
  };
}

export const reflectionContract = contractOf(ServerReflection);
export const reflectionAlphaContract = contractOf(ServerReflectionAlpha);
