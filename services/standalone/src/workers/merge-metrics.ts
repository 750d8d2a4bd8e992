/** Gauges that add up; of any other the largest is told, since every worker sees the same thing. */
const ADDING_GAUGES = new Set(["switchyard_deployment_in_flight"]);

interface Family {
  readonly comments: string[];
  readonly series: Map<string, number>;
  readonly adds: boolean;
}

/** One exposition from those of several processes: counters and histograms are summed. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) mergeInto(families, text);
  const blocks = [...families.values()].map(({ comments, series }) =>
    [...comments, ...[...series].map(([name, value]) => `${name} ${value}`)].join("\n"),
  );
  return `${blocks.join("\n\n")}\n`;
}

function mergeInto(families: Map<string, Family>, text: string): void {
  let help = "";
  let family: Family | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("# HELP ")) help = line;
    else if (line.startsWith("# TYPE ")) family = familyOf(families, line, help);
    else if (line !== "") add(family, line);
  }
}

function familyOf(families: Map<string, Family>, type: string, help: string): Family {
  const [name = "", kind] = type.slice("# TYPE ".length).split(" ");
  const known = families.get(name);
  if (known !== undefined) return known;
  const made = {
    comments: [help, type],
    series: new Map<string, number>(),
    adds: kind !== "gauge" || ADDING_GAUGES.has(name),
  };
  families.set(name, made);
  return made;
}

function add(family: Family | undefined, line: string): void {
  // Label values may hold spaces; the value follows the last one.
  const cut = line.lastIndexOf(" ");
  const value = Number(line.slice(cut + 1));
  if (family === undefined || cut < 0 || Number.isNaN(value)) return;
  const name = line.slice(0, cut);
  const present = family.series.get(name);
  if (present === undefined) family.series.set(name, value);
  else family.series.set(name, family.adds ? present + value : Math.max(present, value));
}
