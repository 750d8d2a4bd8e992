import { describe, expect, it } from "vitest";
import { Metrics } from "../src/index.ts";

async function linesOf(metrics: Metrics): Promise<string[]> {
  const { body } = await metrics.render();
  return body.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("Metrics", () => {
  it("count by names from the config", async () => {
    const metrics = new Metrics();
    metrics.request("chat", "g", "200").inc();
    metrics.request("chat", "g", "200").inc();
    metrics.attempt("g", "a/m", "overloaded").inc();
    metrics.refusal("invalid_api_key").inc();
    const lines = await linesOf(metrics);
    expect(lines).toContain('switchyard_requests_total{endpoint="chat",group="g",status="200"} 2');
    expect(lines).toContain('switchyard_attempts_total{group="g",deployment="a/m",outcome="overloaded"} 1');
    expect(lines).toContain('switchyard_refusals_total{code="invalid_api_key"} 1');
  });

  it("give in-flight back to zero", async () => {
    const metrics = new Metrics();
    const gauge = metrics.inFlight("g", "a/m");
    gauge.inc();
    expect(await linesOf(metrics)).toContain('switchyard_deployment_in_flight{group="g",deployment="a/m"} 1');
    gauge.dec();
    expect(await linesOf(metrics)).toContain('switchyard_deployment_in_flight{group="g",deployment="a/m"} 0');
  });

  it("have buckets for long answers, in seconds", async () => {
    const metrics = new Metrics();
    metrics.duration("chat").observe(299);
    metrics.firstByte("chat").observe(0.02);
    const lines = await linesOf(metrics);
    expect(lines).toContain('switchyard_request_duration_seconds_bucket{le="120",endpoint="chat"} 0');
    expect(lines).toContain('switchyard_request_duration_seconds_bucket{le="300",endpoint="chat"} 1');
    expect(lines).toContain('switchyard_time_to_first_byte_seconds_bucket{le="0.05",endpoint="chat"} 1');
  });

  it("all begin with the product's name, and escape what a label can't hold", async () => {
    const metrics = new Metrics();
    metrics.benched("provider").set(2);
    metrics.request("chat", 'a"b\\c\nd', "200").inc();
    const lines = await linesOf(metrics);
    expect(lines.filter((line) => !line.startsWith("switchyard_"))).toEqual([]);
    expect(lines).toContain(
      'switchyard_requests_total{endpoint="chat",group="a\\"b\\\\c\\nd",status="200"} 1',
    );
  });

  it("of two processes in one are apart", async () => {
    const [one, other] = [new Metrics(), new Metrics()];
    one.configRevision.set(3);
    expect(await linesOf(one)).toContain("switchyard_config_revision 3");
    expect(await linesOf(other)).toContain("switchyard_config_revision 0");
  });
});
