/** What the bench sends and gets back. */
export const ANSWER = Buffer.from(JSON.stringify({ choices: [{ text: "a".repeat(560) }] }));
export const EVENT = Buffer.from(`data: ${JSON.stringify({ delta: "a".repeat(120) })}\n\n`);
export const CHUNKS = 100;

/** As an SDK sends it. */
export function requestOf(bodyBytes: number, stream: boolean): Buffer {
  const body = Buffer.from(
    `{"model":"g","messages":[{"role":"user","content":"${"x".repeat(bodyBytes - 60)}"}]}`,
  );
  const head = [
    `POST /v1/chat/completions${stream ? "?stream" : ""} HTTP/1.1`,
    "Host: gateway.internal:8080",
    "Connection: keep-alive",
    "Accept: application/json",
    "Accept-Encoding: gzip, deflate, br",
    "Content-Type: application/json",
    "User-Agent: OpenAI/Python 1.99.1",
    "X-Stainless-Lang: python",
    "X-Stainless-Package-Version: 1.99.1",
    "X-Stainless-Retry-Count: 0",
    "Authorization: Bearer ck-bench-0123456789abcdef",
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}
