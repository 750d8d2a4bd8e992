import type {
  CandidateExplanation,
  DecideResponse,
  GroupExplanation,
} from "@switchyard/proto/routing/v1/routing_service";

/** A decision and why it came out so, for people (R8). */
export function explanationText(response: DecideResponse, model: string): string {
  const { explanation } = response;
  const lines = [
    `model      ${model === "" ? "(none)" : model}`,
    `caller     ${response.keyName === "" ? "unknown key" : response.keyName}`,
    ...decisionLines(response),
    "",
    ...(explanation?.groups ?? []).flatMap(groupLines),
    ...(explanation?.steps ?? []).map(({ rule, text }) => `${rule}: ${text}`),
    "",
    `config revision ${response.configRevision}, health version ${explanation?.healthVersion ?? 0}, ` +
      `seed ${explanation?.seed ?? 0}`,
  ];
  return `${lines.join("\n")}\n`;
}

function decisionLines({ decision }: DecideResponse): string[] {
  if (decision.case === "attempt") {
    const { group, deployment, step, next, timeoutMs } = decision.value;
    return [
      `decision   ${step}: ${deployment} of group ${group}`,
      `time       ${timeoutMs === 0n ? "unbounded" : `${timeoutMs} ms`} until response headers`,
      `next       ${next === "" ? "none" : next}`,
    ];
  }
  if (decision.case === "refusal") {
    const { status, code, message } = decision.value;
    return [`decision   refuse: ${status} ${code}: ${message}`];
  }
  return ["decision   none"];
}

function groupLines({ group, strategy, draw, candidates }: GroupExplanation): string[] {
  const drawn = draw === undefined ? "" : `, draw ${draw.toFixed(4)}`;
  return [`group ${group} (${strategy}${drawn})`, ...candidates.map(candidateLine), ""];
}

function candidateLine({ deployment, verdict, rule, score }: CandidateExplanation): string {
  const why = [
    ...(rule === "" ? [] : [rule]),
    ...(score === undefined ? [] : [`score ${Number(score.toFixed(4))}`]),
  ];
  return `  ${verdict.padEnd(8)} ${deployment}${why.length === 0 ? "" : `  ${why.join(", ")}`}`;
}
