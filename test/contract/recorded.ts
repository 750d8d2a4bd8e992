import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { ConfigService } from "@switchyard/proto/admin/v1/config_service";
import { Health } from "@switchyard/proto/grpc/health/v1/health";
import { HealthStateService } from "@switchyard/proto/health/v1/health_state_service";
import { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import type { ServiceImpl } from "@switchyard/rpc";
import type { Clients } from "./transports.ts";

/** `package.Service/Method`. */
export const nameOf = ({ parent, name }: DescMethod): string => `${parent.typeName}/${name}`;

/** The same clients, which note every method that is called. */
export function recorded(clients: Clients, called: Set<string>): Clients {
  const { platform, reflect } = clients;
  const noting = <S extends DescService>(service: S, impl: ServiceImpl<S>): ServiceImpl<S> => {
    const methods = impl as Readonly<Record<string, (...args: unknown[]) => unknown>>;
    const noted = service.methods.map((method) => [
      method.localName,
      (...args: unknown[]): unknown => {
        called.add(nameOf(method));
        return methods[method.localName]?.(...args);
      },
    ]);
    return Object.fromEntries(noted) as ServiceImpl<S>;
  };
  return {
    routing: noting(RoutingService, clients.routing),
    inference: noting(InferenceService, clients.inference),
    health: noting(HealthStateService, clients.health),
    admin: noting(ConfigService, clients.admin),
    platform: platform === undefined ? undefined : noting(Health, platform),
    reflect:
      reflect === undefined
        ? undefined
        : (service) => {
            called.add(nameOf(service.method.serverReflectionInfo));
            return reflect(service);
          },
  };
}
