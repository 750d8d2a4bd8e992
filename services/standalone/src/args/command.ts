/** The services that a process can host, in the order in which they are listed and started. */
export const SERVICES = ["router", "forwarder", "health", "facade"] as const;
export type ServiceName = (typeof SERVICES)[number];

/** What the command line asks for. */
export type Command =
  | { readonly name: "help"; readonly text: string }
  | { readonly name: "version" }
  | ServeCommand
  | { readonly name: "validate"; readonly file: string }
  | ExplainCommand
  | ReplayCommand
  | ApplyCommand
  | QuickstartCommand;

export interface ServeCommand {
  readonly name: "serve";
  readonly config: string;
  readonly services: ReadonlySet<ServiceName>;
  /** Processes that share the listeners; 1 is this process alone. */
  readonly workers: number;
}

export interface ExplainCommand {
  readonly name: "explain";
  readonly config: string;
  /** A key's secret, or the name of a key in the config. */
  readonly key: string;
  readonly model: string | undefined;
  readonly body: string | undefined;
  /** Path of the endpoint; told by the body when left out. */
  readonly path: string | undefined;
  readonly json: boolean;
}

export interface ReplayCommand {
  readonly name: "replay";
  /** A decision log. */
  readonly log: string;
  /** The candidate. */
  readonly config: string;
  readonly json: boolean;
  /** Only checks that the config decides as it did. */
  readonly verify: boolean;
  readonly limits: ReplayLimits;
}

/** Past one of these the command fails; undefined = no such limit. In percent, shares in percentage points. */
export interface ReplayLimits {
  readonly shareChange: number | undefined;
  readonly costChange: number | undefined;
  readonly failureRate: number | undefined;
}

export interface ApplyCommand {
  readonly name: "apply";
  readonly file: string;
  readonly url: string | undefined;
  readonly dryRun: boolean;
}

export interface QuickstartCommand {
  readonly name: "quickstart";
  readonly http: string | undefined;
  readonly rpc: string | undefined;
  readonly ops: string | undefined;
}
