import { ResponseReader, type ResponseHead } from "../src/index.ts";
import type { Verdict } from "./node-client.ts";

export interface OurVerdict extends Verdict {
  head: ResponseHead | undefined;
  chunks: string[];
  reusable: boolean;
  ends: number;
  fault: string | undefined;
}

/** How our reader reads the response to one request; every piece comes in a buffer that is overwritten afterwards. */
export function readByUs(pieces: readonly Buffer[], method = "POST", maxHeadBytes = 65_536): OurVerdict {
  const verdict: OurVerdict = {
    whole: false,
    status: 0,
    body: "",
    head: undefined,
    chunks: [],
    reusable: false,
    ends: 0,
    fault: undefined,
  };
  const reader = new ResponseReader(
    {
      onHead: (head) => {
        verdict.head = head;
        verdict.status = head.status;
      },
      onBody: (bytes, start, end) => {
        verdict.chunks.push(bytes.toString("latin1", start, end));
        verdict.body += bytes.toString("latin1", start, end);
      },
      onEnd: () => {
        verdict.whole = true;
        verdict.ends += 1;
        verdict.reusable = reader.reusable;
      },
    },
    maxHeadBytes,
  );
  reader.expect(method === "HEAD");
  const shared = Buffer.alloc(70_000, "HTTP/1.1 200 OK\r\n\r\n");
  for (const piece of pieces) {
    piece.copy(shared);
    const used = reader.push(shared, piece.length);
    if (used < 0) verdict.fault = reader.fault;
    if (used < piece.length) return verdict;
  }
  if (!reader.close()) verdict.fault = reader.fault;
  return verdict;
}
