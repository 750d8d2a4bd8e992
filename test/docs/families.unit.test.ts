import { readFileSync } from "node:fs";
import { join } from "node:path";
import { capabilities, FAMILIES } from "@switchyard/providers";
import { expect, it } from "vitest";

const README = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
const [, TABLE = ""] = /\n\| family \| as it came \| translated \|\n(.*?)\n\n/s.exec(README) ?? [];

/** `chat, responses; for Claude messages, token counting`: endpoints for Claude, or for all others. */
function endpoints(cell: string, claude: boolean): string[] {
  const part = cell.split(";").find((each) => each.trim().startsWith("for Claude ") === claude) ?? "";
  const names = part.replace(/^\s*for Claude /, "").split(",");
  return names
    .map((name) => name.trim().replace("token counting", "count_tokens"))
    .filter((name) => name !== "" && !name.startsWith("and what"))
    .toSorted();
}

it("README's table of families has what each can do", () => {
  const [, ...rows] = TABLE.split("\n").map((line) => line.split("|").slice(1, -1));
  const shown = rows.flatMap(([names = "", native = "", translated = ""]) =>
    names.split(",").map((name): [string, string[][]] => {
      const own = endpoints(native, true);
      // Where nothing else is said, Claude has what others have and needs no translation of what is its own.
      const told = endpoints(translated, true);
      const rest = endpoints(translated, false).filter((each) => own.length > 0 && !own.includes(each));
      return [
        name.replaceAll("`", "").trim(),
        [endpoints(native, false), endpoints(translated, false), own, told.length > 0 ? told : rest],
      ];
    }),
  );
  const real = [...FAMILIES.keys()].map((family): [string, string[][]] => {
    const { native, translated, claude } = capabilities(family);
    const all = [native, translated, claude?.native ?? [], claude?.translated ?? []];
    return [family, all.map((each) => each.toSorted())];
  });
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(real));
});
