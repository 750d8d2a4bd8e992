/** Time between two beats, ms. */
export const BEAT_MS = 250;

const askAfter = 2;
const askAgain = 4;
const frozenAfter = 4;
const goneAfter = 40;

/**
 * What a beat finds. Ask: send the least that a server can answer. Frozen: it took that too and said nothing. Gone: for
 * so long that what waits there should not. Heard: it was frozen and speaks. Lost: it was frozen, and nothing waits any
 * more to hear whether it speaks.
 */
export type Finding = "ask" | "frozen" | "gone" | "heard" | "lost";

/**
 * Tells a server that hangs from one that takes its time: a process that is stopped still takes connections and bytes,
 * and a call may rightly take minutes, so only a question that is answered at once can tell. Pure: counts beats.
 */
export class Pulse {
  #quiet = 0;

  get frozen(): boolean {
    return this.#quiet >= frozenAfter;
  }

  /** `heard`: a byte came since the last beat. `waiting`: something is asked of the server. */
  beat(heard: boolean, waiting: boolean): Finding | undefined {
    if (heard || !waiting) {
      const wasFrozen = this.frozen;
      this.#quiet = 0;
      if (!wasFrozen) return undefined;
      return heard ? "heard" : "lost";
    }
    this.#quiet += 1;
    if (this.#quiet === frozenAfter) return "frozen";
    if (this.#quiet === goneAfter) return "gone";
    return (this.#quiet - askAfter) % askAgain === 0 ? "ask" : undefined;
  }
}
