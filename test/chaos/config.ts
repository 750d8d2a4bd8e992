interface Upstream {
  readonly url: string;
}

interface ConfigObject {
  readonly providers: object[];
  readonly groups: object[];
  readonly keys: object[];
}

/** `g = [A > B]` of the cases: A takes everything, B stands by; one failure benches, no retries, no jitter. */
export function ordered(
  a: Upstream,
  b: Upstream,
  bench: object = {},
  groups: readonly string[] = ["g"],
): ConfigObject {
  return {
    providers: [provider("a", a, "UPKEY_A"), provider("b", b, "UPKEY_B")],
    groups: groups.map((name) => ({
      name,
      deployments: [
        { provider: "a", model: "m-a", weight: 1 },
        { provider: "b", model: "m-b", weight: 0 },
      ],
      policy: {
        zero_weight: "standby",
        retry: { max_retries: 0 },
        bench: { failures: 1, cooloff: "5s", ...bench },
      },
    })),
    keys: [
      { name: "caller", secret: { env: "CALLER_KEY" }, groups: [...groups] },
      {
        name: "admin",
        secret: { env: "ADMIN_KEY" },
        groups: [...groups],
        roles: ["caller", "account_admin"],
      },
    ],
  };
}

/** `g = [A]`. */
export function single(a: Upstream, policy: object = {}): ConfigObject {
  return {
    providers: [provider("a", a, "UPKEY_A")],
    groups: [
      {
        name: "g",
        deployments: [{ provider: "a", model: "m-a" }],
        policy: { retry: { max_retries: 0 }, ...policy },
      },
    ],
    keys: [
      { name: "caller", secret: { env: "CALLER_KEY" }, groups: ["g"] },
      { name: "admin", secret: { env: "ADMIN_KEY" }, groups: ["g"], roles: ["caller", "account_admin"] },
    ],
  };
}

export function provider(name: string, { url }: Upstream, env: string): object {
  return { name, family: "openai_compatible", base_url: `${url}/v1`, credential: { env } };
}
