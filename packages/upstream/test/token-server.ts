import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

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

/** A scripted server of tokens on loopback. */
export class TokenServer {
  readonly asked: TokenRequest[] = [];
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

  static async start(): Promise<TokenServer> {
    const started = new TokenServer();
    await new Promise<void>((resolve) => started.#server.listen(0, "127.0.0.1", resolve));
    return started;
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

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
