import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";

/** One request as the server got it. */
export interface TokenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What it answers: JSON, or a text as it is. */
export interface TokenAnswer {
  readonly status?: number;
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A scripted server of tokens on loopback, and a folder for credentials. */
export class TokenServer {
  readonly asked: TokenRequest[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), "tokens-"));
  answer: (request: TokenRequest) => TokenAnswer = () => ({ status: 500, body: {} });
  readonly #server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const { method = "", url: path = "", headers } = request;
      const asked = { method, path, headers, body };
      this.asked.push(asked);
      const answer = this.answer(asked);
      const isText = typeof answer.body === "string";
      const type = isText ? "text/plain" : "application/json";
      response.writeHead(answer.status ?? 200, { "content-type": type, ...answer.headers });
      response.end(isText ? answer.body : JSON.stringify(answer.body));
    });
  });

  /** The server of a file's tests: it forgets what it was asked, and the environment is as it was, after each of them. */
  static ofFile(): TokenServer {
    const server = new TokenServer();
    beforeAll(() => new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve)));
    beforeEach(() => {
      server.asked.length = 0;
    });
    afterEach(() => {
      vi.unstubAllEnvs();
    });
    afterAll(() => server.#close());
    return server;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** From now on each request gets this token. */
  grants(token: string, seconds: number): void {
    const body = { access_token: token, expires_in: seconds, token_type: "Bearer" };
    this.answer = () => ({ body });
  }

  /** The form that request number `at` posted. */
  form(at: number): Record<string, string> {
    return Object.fromEntries(new URLSearchParams(this.asked[at]?.body));
  }

  #close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.folder, { recursive: true });
  }
}
