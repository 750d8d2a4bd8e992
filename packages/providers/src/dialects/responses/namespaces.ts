import { isJsonList, isJsonObject, type JsonObject } from "../../json/lossless.ts";

/** Between a namespace and a function of it, where names are flat: what servers of tools put there by custom. */
const SEPARATOR = "__";

/** A function of a namespace under one name. */
export function flatName(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : namespace + SEPARATOR + name;
}

/** Where a function that a model calls by its flat name belongs. */
export interface NamedFunction {
  readonly name: string;
  readonly namespace?: string;
}

/** The inverse of {@link flatName} for the namespaces that a request offers. */
export class Namespaces {
  readonly #functions = new Map<string, NamedFunction>();

  constructor(request: JsonObject) {
    for (const tool of objectsIn(request, "tools")) {
      const namespace = tool["name"];
      if (tool["type"] !== "namespace" || typeof namespace !== "string") continue;
      for (const { name } of objectsIn(tool, "tools")) {
        if (typeof name === "string") this.#functions.set(flatName(namespace, name), { name, namespace });
      }
    }
  }

  find(flat: string): NamedFunction {
    return this.#functions.get(flat) ?? { name: flat };
  }
}

function objectsIn(object: JsonObject, key: string): JsonObject[] {
  const list = object[key];
  return isJsonList(list) ? list.filter(isJsonObject) : [];
}
