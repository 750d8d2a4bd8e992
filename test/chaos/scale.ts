/** How long and how large the slow cases are: short in the suite, as the cases say in `soak.ts`. */
export const SCALE = {
  natsOutageMs: fromEnvironment("CHAOS_NATS_OUTAGE_MS", 4_000),
  wrongCredentialsMs: fromEnvironment("CHAOS_WRONG_CREDENTIALS_MS", 2_500),
  floodMib: fromEnvironment("CHAOS_FLOOD_MIB", 96),
  stalledMs: fromEnvironment("CHAOS_STALLED_MS", 1_000),
  readOn: fromEnvironment("CHAOS_READ_ON", 3),
} as const;

function fromEnvironment(name: string, usual: number): number {
  return Number(process.env[name] ?? usual);
}
