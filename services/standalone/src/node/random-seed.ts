/** Seeds of decisions: an unsigned 32-bit integer each. Nothing secret hangs on them, so they may be cheap. */
export function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 32);
}
