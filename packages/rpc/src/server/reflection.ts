import { createRegistry, type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import {
  ServerReflection,
  type ServerReflectionRequest,
} from "@switchyard/proto/grpc/reflection/v1/reflection";
import {
  ServerReflection as ServerReflectionAlpha,
  type ServerReflectionRequest as ServerReflectionRequestAlpha,
} from "@switchyard/proto/grpc/reflection/v1alpha/reflection";

type Asked = ServerReflectionRequest | ServerReflectionRequestAlpha;

/**
 * Serves `grpc.reflection.v1` for these services, so that `buf curl` and the like need no schema, and the same under its
 * first name `v1alpha`, which is all that the Python client and older tools ask for.
 */
export function reflectionRoutes(router: ConnectRouter, services: readonly DescService[]): void {
  const files = new Map<string, DescFile>();
  for (const service of services) collect(service.file, files);
  const registry = createRegistry(...files.values());
  const find = (symbol: string): DescFile | undefined =>
    (registry.get(symbol) ?? registry.get(symbol.slice(0, Math.max(0, symbol.lastIndexOf(".")))))?.file;

  const respond = ({ messageRequest: ask }: Asked) => {
    switch (ask.case) {
      case "listServices":
        return listed(services);
      case "fileByFilename":
        return described(files.get(ask.value), ask.value);
      case "fileContainingSymbol":
        return described(find(ask.value), ask.value);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = ask.value;
        for (const type of registry) {
          if (type.kind !== "extension" || type.number !== extensionNumber) continue;
          if (type.extendee.typeName === containingType) return described(type.file, containingType);
        }
        return notFound(containingType);
      }
      case "allExtensionNumbersOfType": {
        const extensionNumber: number[] = [];
        for (const type of registry) {
          if (type.kind === "extension" && type.extendee.typeName === ask.value)
            extensionNumber.push(type.number);
        }
        const value = { baseTypeName: ask.value, extensionNumber };
        return { case: "allExtensionNumbersResponse" as const, value };
      }
      case undefined:
        return notFound("an empty request");
    }
  };

  async function* answer<T extends Asked>(requests: AsyncIterable<T>) {
    for await (const request of requests) {
      yield { validHost: request.host, originalRequest: request, messageResponse: respond(request) };
    }
  }
  router.service(ServerReflection, { serverReflectionInfo: (requests) => answer(requests) });
  router.service(ServerReflectionAlpha, { serverReflectionInfo: (requests) => answer(requests) });
}

function listed(services: readonly DescService[]) {
  const service = services.map(({ typeName }) => ({ name: typeName }));
  return { case: "listServicesResponse" as const, value: { service } };
}

function described(file: DescFile | undefined, name: string) {
  if (file === undefined) return notFound(name);
  const all = new Map<string, DescFile>();
  collect(file, all);
  const fileDescriptorProto = [...all.values()].map(({ proto }) =>
    toBinary(FileDescriptorProtoSchema, proto),
  );
  return { case: "fileDescriptorResponse" as const, value: { fileDescriptorProto } };
}

function notFound(name: string) {
  return {
    case: "errorResponse" as const,
    value: { errorCode: Code.NotFound, errorMessage: `${name} not found` },
  };
}

/** A file and all it imports, the imported first asked for last. */
function collect(file: DescFile, into: Map<string, DescFile>): void {
  if (into.has(file.proto.name)) return;
  into.set(file.proto.name, file);
  for (const dependency of file.dependencies) collect(dependency, into);
}
