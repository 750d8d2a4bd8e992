import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { chunk, completion, embeddingList, errorBody, modelList, pieces, usageOf } from "./answers.ts";
import { inputsOf, promptTokens, readObject, wantsUsage, wordLimit } from "./read-request.ts";

/** Between two pieces of a stream, ms: fast enough to read, slow enough to see. */
const PIECE_MS = 40;
/** The flaky deployment's first call fails, and then every third. */
const FAILS_EVERY = 3;

/** A provider that speaks the OpenAI API, needs no key and runs in this process. */
export interface DemoProvider {
  /** Serves every request. */
  readonly steadyUrl: string;
  /** Answers 503 to its first call and to every third. */
  readonly flakyUrl: string;
  close(): Promise<void>;
}

/** Starts it on a free port of the loopback interface. */
export async function startDemoProvider(): Promise<DemoProvider> {
  let calls = 0;
  let flakyCalls = 0;
  const server = createServer((request, response) => {
    const [, place, path] = /^\/(steady|flaky)(\/v1\/[^?]*)/u.exec(request.url ?? "") ?? [];
    calls += 1;
    const id = `chatcmpl-demo-${calls}`;
    if (place === "flaky" && request.method === "POST" && flakyCalls++ % FAILS_EVERY === 0) {
      request.resume();
      const why = "The demonstration provider is overloaded, as it is now and then. Please try again.";
      return reply(response, 503, errorBody(why, "overloaded_error", "overloaded"));
    }
    // A caller that left in the middle needs no answer.
    answer(request, response, path, id).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await new Promise<void>((resolve, reject) => server.once("listening", resolve).once("error", reject));
  const { port } = server.address() as AddressInfo;
  return {
    steadyUrl: `http://127.0.0.1:${port}/steady/v1`,
    flakyUrl: `http://127.0.0.1:${port}/flaky/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  path: string | undefined,
  id: string,
): Promise<void> {
  if (request.method === "GET" && path === "/v1/models") return reply(response, 200, modelList());
  if (request.method !== "POST" || (path !== "/v1/chat/completions" && path !== "/v1/embeddings")) {
    request.resume();
    const why = `Unknown request URL: ${request.method} ${path ?? "/"}`;
    return reply(response, 404, errorBody(why, "invalid_request_error", "unknown_url"));
  }
  const body = await readObject(request);
  if (body === undefined) return refuse(response, "We could not parse the JSON body of your request.", null);
  const model = body["model"];
  if (typeof model !== "string") return refuse(response, "you must provide a model parameter", "model");
  if (path === "/v1/embeddings") {
    const inputs = inputsOf(body["input"]);
    if (inputs === undefined) return refuse(response, "'input' must be text or a list of texts.", "input");
    return reply(response, 200, embeddingList(model, inputs, body["encoding_format"] === "base64"));
  }
  const messages = body["messages"];
  if (!Array.isArray(messages) || messages.length === 0) {
    return refuse(response, "'messages' must be a list with at least one message.", "messages");
  }
  const limit = wordLimit(body);
  const words = pieces(limit);
  const cut = words.length < pieces(Number.POSITIVE_INFINITY).length;
  const usage = usageOf(promptTokens(messages), words.length);
  if (body["stream"] !== true) {
    return reply(response, 200, completion(id, model, words.join(""), cut, usage));
  }
  const withUsage = wantsUsage(body);
  const none = withUsage ? null : undefined;
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
  send(response, chunk(id, model, { role: "assistant", content: "", refusal: null }, null, none));
  for (const content of words) {
    await pause(PIECE_MS);
    if (response.destroyed) return;
    send(response, chunk(id, model, { content }, null, none));
  }
  send(response, chunk(id, model, {}, cut ? "length" : "stop", none));
  if (withUsage) send(response, chunk(id, model, undefined, null, usage));
  response.end("data: [DONE]\n\n");
}

function send(response: ServerResponse, event: object): void {
  response.write(`data: ${JSON.stringify(event)}\n\n`);
}

function refuse(response: ServerResponse, message: string, param: string | null): void {
  reply(response, 400, errorBody(message, "invalid_request_error", null, param));
}

function reply(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}
