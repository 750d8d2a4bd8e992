import {
  isJsonList,
  isJsonNumber,
  isJsonObject,
  type Json,
  type JsonObject,
  type RawNumber,
} from "../json/lossless.ts";
import { invalidField, notTranslatable } from "./fault.ts";

/**
 * The members of one object, taken one by one. What nobody has taken at the end is refused by name, so that no field is ever dropped
 * unsaid (P2). Null says nothing, as in every API here.
 */
export class Fields {
  readonly object: JsonObject;
  readonly path: string;
  readonly #taken = new Set<string>();

  constructor(object: JsonObject, path: string) {
    this.object = object;
    this.path = path;
  }

  /** The path of a member. */
  at(key: string | number): string {
    return this.path === "" ? String(key) : `${this.path}.${key}`;
  }

  /** The member's value; undefined for null. It counts as dealt with. */
  take(key: string): Json | undefined {
    this.#taken.add(key);
    const value = Object.hasOwn(this.object, key) ? this.object[key] : undefined;
    return value === null ? undefined : value;
  }

  text(key: string): string | undefined {
    const value = this.take(key);
    if (value === undefined || typeof value === "string") return value;
    throw invalidField(this.at(key), "must be a string");
  }

  /** A text that has to be there. */
  needText(key: string): string {
    const value = this.text(key);
    if (value === undefined) throw invalidField(this.at(key), "is required");
    return value;
  }

  flag(key: string): boolean | undefined {
    const value = this.take(key);
    if (value === undefined || typeof value === "boolean") return value;
    throw invalidField(this.at(key), "must be a boolean");
  }

  number(key: string): number | RawNumber | undefined {
    const value = this.take(key);
    if (value === undefined || isJsonNumber(value)) return value;
    throw invalidField(this.at(key), "must be a number");
  }

  list(key: string): readonly Json[] | undefined {
    const value = this.take(key);
    if (value === undefined || isJsonList(value)) return value;
    throw invalidField(this.at(key), "must be an array");
  }

  fields(key: string): Fields | undefined {
    const value = this.take(key);
    return value === undefined ? undefined : fieldsAt(value, this.at(key));
  }

  /** The members of each element of a list of objects. */
  items(key: string): Fields[] {
    return (this.list(key) ?? []).map((item, place) => fieldsAt(item, `${this.at(key)}.${place}`));
  }

  /** A list of texts, or one text alone. */
  texts(key: string): string[] {
    const value = this.take(key);
    if (value === undefined) return [];
    const list = isJsonList(value) ? value : [value];
    return list.map((item) => {
      if (typeof item !== "string") throw invalidField(this.at(key), "must hold strings");
      return item;
    });
  }

  /** What nobody has taken, nulls apart. */
  rest(): JsonObject {
    const left = Object.entries(this.object).filter(
      ([key, value]) => !this.#taken.has(key) && value !== null && value !== undefined,
    );
    return Object.fromEntries(left);
  }

  /** P2: refuses the first member that nobody has taken. */
  refuseRest(reason: string): void {
    const [key] = Object.keys(this.rest());
    if (key !== undefined) throw notTranslatable(this.at(key), reason);
  }
}

/** The members of a value that must be an object. */
export function fieldsAt(value: Json, path: string): Fields {
  if (!isJsonObject(value)) throw invalidField(path, "must be an object");
  return new Fields(value, path);
}
