import { parseAst } from "rolldown/parseAst";

/** What the layer rules need to know of one source file. */
export interface SourceFile {
  /** From the repository's root, with forward slashes. */
  readonly path: string;
  /** Everything that it imports or re-exports, types too, as written. */
  readonly imports: readonly string[];
  /** Free-standing names, plus `Math.random` where that is read. */
  readonly names: ReadonlySet<string>;
  /** Lines that are neither blank nor only a comment. */
  readonly codeLines: number;
}

type Node = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Parses it when imports or names are asked for. */
export function readSourceFile(path: string, text: string): SourceFile {
  let parsed: Pick<SourceFile, "imports" | "names"> | undefined;
  return {
    path,
    codeLines: countCodeLines(text),
    get imports() {
      return (parsed ??= parse(path, text)).imports;
    },
    get names() {
      return (parsed ??= parse(path, text)).names;
    },
  };
}

function parse(path: string, text: string): Pick<SourceFile, "imports" | "names"> {
  const imports: string[] = [];
  const names = new Set<string>();
  const program: unknown = parseAst(text, { lang: path.endsWith(".d.ts") ? "dts" : "ts" }, path);
  visit(program, (node, isMemberName) => {
    const source = node["source"];
    if (isNode(source) && typeof source["value"] === "string") imports.push(source["value"]);
    if (node.type === "Identifier" && !isMemberName && typeof node["name"] === "string")
      names.add(node["name"]);
    if (node.type === "MemberExpression") addGlobalMember(node, names);
  });
  return { imports, names };
}

/** A global is also reached by way of globalThis, behind a cast or not. */
function addGlobalMember(node: Node, names: Set<string>): void {
  let object = node["object"];
  while (isNode(object) && isNode(object["expression"])) object = object["expression"];
  const member = nameOf(node["property"]);
  if (nameOf(object) === "globalThis" && typeof member === "string") names.add(member);
  if (nameOf(object) === "Math" && member === "random") names.add("Math.random");
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function nameOf(value: unknown): unknown {
  return isNode(value) ? value["name"] : undefined;
}

function visit(value: unknown, see: (node: Node, isMemberName: boolean) => void, isMemberName = false): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, see);
  } else if (isNode(value)) {
    see(value, isMemberName);
    for (const [key, child] of Object.entries(value)) {
      const namesAMember = (key === "property" || key === "key") && value["computed"] !== true;
      visit(child, see, namesAMember);
    }
  }
}

function countCodeLines(text: string): number {
  let count = 0;
  let inComment = false;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    const startsComment = line.startsWith("/*");
    if (!inComment && !startsComment && line !== "" && !line.startsWith("//")) count += 1;
    if (startsComment) inComment = true;
    if (line.includes("*/")) inComment = false;
  }
  return count;
}
