import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder that README's commands are run in. */
export const ROOT: string = join(import.meta.dirname, "../..");

interface Block {
  readonly heading: string;
  readonly language: string;
  readonly line: number;
  readonly text: string;
}

/** README.md as a reader goes through it: sections by heading, fenced blocks in order. */
export class Readme {
  readonly text: string;
  readonly #lines: readonly string[];
  readonly #left: Set<Block>;

  constructor() {
    this.text = readFileSync(join(ROOT, "README.md"), "utf8");
    this.#lines = this.text.split("\n");
    this.#left = new Set(blocksOf(this.#lines));
  }

  /** The next block of that language under that heading which no example has claimed yet, as it stands in the file. */
  take(heading: string, language: string): string {
    const block = [...this.#left].find((each) => each.heading === heading && each.language === language);
    if (block === undefined) throw new Error(`README.md has no further ${language} block under "${heading}"`);
    this.#left.delete(block);
    return block.text;
  }

  /** Blocks that no example has claimed. */
  unclaimed(): string[] {
    return [...this.#left].map(({ heading, language, line }) => `line ${line}: ${language} in "${heading}"`);
  }

  /** The text from a heading to the next. */
  section(heading: string): string {
    const from = this.#lines.indexOf(`## ${heading}`);
    if (from < 0) throw new Error(`README.md has no section "${heading}"`);
    const length = this.#lines.slice(from + 1).findIndex((line) => line.startsWith("## "));
    return this.#lines.slice(from, length < 0 ? undefined : from + 1 + length).join("\n");
  }
}

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let open: { language: string; line: number; text: string } | undefined;
  for (const [index, line] of lines.entries()) {
    if (open === undefined) {
      if (line.startsWith("## ")) heading = line.slice(3);
      if (line.startsWith("```")) open = { language: line.slice(3), line: index + 1, text: "" };
    } else if (line === "```") {
      blocks.push({ heading, ...open });
      open = undefined;
    } else open.text += `${line}\n`;
  }
  if (open !== undefined) throw new Error(`README.md: the block of line ${open.line} has no end`);
  return blocks;
}
