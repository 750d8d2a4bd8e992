/** What is wrong with a line of a log; `where` is a path such as `facts.model`. */
export class LineFault extends Error {
  override readonly name = "LineFault";
  constructor(where: string, wanted: string) {
    super(where === "" ? wanted : `${where}: ${wanted}`);
  }
}

/** Reads the fields of parsed JSON that somebody else may have written, and says where one is not what it must be. */
export class Fields {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #at: string;

  constructor(value: unknown, at = "") {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new LineFault(at, "an object is wanted");
    }
    this.#value = value as Record<string, unknown>;
    this.#at = at === "" ? "" : `${at}.`;
  }

  text(name: string): string {
    return this.#is(name, isText, "a text is wanted");
  }

  optionalText(name: string): string | undefined {
    return this.#has(name) ? this.text(name) : undefined;
  }

  number(name: string): number {
    const value = this.#value[name];
    // Numbers that JSON cannot write are kept as texts.
    return typeof value === "string" && NOT_FINITE.has(value)
      ? Number(value)
      : this.#is(name, isNumber, "a number is wanted");
  }

  optionalNumber(name: string): number | undefined {
    return this.#has(name) ? this.number(name) : undefined;
  }

  /** Those of the numbers that are there. */
  numbers<Name extends string>(names: readonly Name[]): { [Key in Name]?: number } {
    const found: { [Key in Name]?: number } = {};
    for (const name of names) if (this.#has(name)) found[name] = this.number(name);
    return found;
  }

  flag(name: string): boolean {
    return this.#is(name, isFlag, "true or false is wanted");
  }

  optionalFlag(name: string): boolean | undefined {
    return this.#has(name) ? this.flag(name) : undefined;
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Word {
    const value = this.#value[name];
    const known = words.find((word) => word === value);
    if (known === undefined) throw new LineFault(this.#at + name, `one of ${words.join(", ")} is wanted`);
    return known;
  }

  optionalOneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    return this.#has(name) ? this.oneOf(name, words) : undefined;
  }

  object(name: string): Fields {
    return new Fields(this.#value[name], this.#at + name);
  }

  optionalObject(name: string): Fields | undefined {
    return this.#has(name) ? this.object(name) : undefined;
  }

  texts(name: string): string[] {
    return this.list(name, (item, at) => {
      if (isText(item)) return item;
      throw new LineFault(at, "a text is wanted");
    });
  }

  optionalTexts(name: string): string[] | undefined {
    return this.#has(name) ? this.texts(name) : undefined;
  }

  list<Item>(name: string, read: (item: unknown, at: string) => Item): Item[] {
    const value = this.#is(name, Array.isArray as (value: unknown) => value is unknown[], "a list is wanted");
    return value.map((item, index) => read(item, `${this.#at}${name}[${index}]`));
  }

  /** A map as a list of pairs. */
  map<Value>(name: string, read: (value: unknown, at: string) => Value): Map<string, Value> {
    const pairs = this.list(name, (pair, at): [string, Value] => {
      const [key, value] = Array.isArray(pair) ? (pair as unknown[]) : [];
      if (!isText(key)) throw new LineFault(at, "a pair of a text and a value is wanted");
      return [key, read(value, `${at}[1]`)];
    });
    return new Map(pairs);
  }

  optionalMap<Value>(
    name: string,
    read: (value: unknown, at: string) => Value,
  ): Map<string, Value> | undefined {
    return this.#has(name) ? this.map(name, read) : undefined;
  }

  #has(name: string): boolean {
    const value = this.#value[name];
    return value !== undefined && value !== null;
  }

  #is<Value>(name: string, test: (value: unknown) => value is Value, wanted: string): Value {
    const value = this.#value[name];
    if (!test(value)) throw new LineFault(this.#at + name, wanted);
    return value;
  }
}

/** A number that stands alone, as in a map. */
export function readNumber(value: unknown, at: string): number {
  if (isNumber(value)) return value;
  throw new LineFault(at, "a number is wanted");
}

const NOT_FINITE: ReadonlySet<string> = new Set(["NaN", "Infinity", "-Infinity"]);

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isFlag = (value: unknown): value is boolean => typeof value === "boolean";
