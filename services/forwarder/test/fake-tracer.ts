import type {
  AttemptSpan,
  AttemptSpanEnd,
  AttemptStart,
  RequestEnd,
  RequestSpan,
  RequestStart,
  Tracer,
} from "@switchyard/telemetry";

/** The span of an attempt, as it was told. */
export class FakeAttemptSpan implements AttemptSpan {
  readonly start: AttemptStart;
  readonly headers: readonly string[];
  readonly ends: AttemptSpanEnd[] = [];
  origin = "";
  firstTokens = 0;

  constructor(start: AttemptStart, index: number) {
    this.start = start;
    this.headers = ["traceparent", `span-of-attempt-${index}`];
  }

  sentTo(origin: string): void {
    this.origin = origin;
  }
  firstToken(): void {
    this.firstTokens += 1;
  }
  end(end: AttemptSpanEnd): void {
    this.ends.push(end);
  }
}

/** The span of a request, as it was told. */
export class FakeRequestSpan implements RequestSpan {
  readonly start: RequestStart;
  readonly attempts: FakeAttemptSpan[] = [];
  readonly ends: RequestEnd[] = [];
  /** Attempts that had not ended when the request had. */
  openAtEnd = 0;

  constructor(start: RequestStart) {
    this.start = start;
  }

  startAttempt(start: AttemptStart): AttemptSpan {
    const span = new FakeAttemptSpan(start, this.attempts.length);
    this.attempts.push(span);
    return span;
  }
  end(end: RequestEnd): void {
    this.openAtEnd = this.attempts.filter(({ ends }) => ends.length === 0).length;
    this.ends.push(end);
  }
}

export class FakeTracer implements Tracer {
  readonly requests: FakeRequestSpan[] = [];

  startRequest(start: RequestStart): RequestSpan {
    const span = new FakeRequestSpan(start);
    this.requests.push(span);
    return span;
  }
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** The span of the only request. */
  get request(): FakeRequestSpan {
    const [only, ...more] = this.requests;
    if (only === undefined || more.length > 0) throw new Error(`there were ${this.requests.length} requests`);
    return only;
  }
  /** How it ended. */
  get end(): RequestEnd {
    const [end] = this.request.ends;
    if (end === undefined) throw new Error("the request's span has not ended");
    return end;
  }
}
