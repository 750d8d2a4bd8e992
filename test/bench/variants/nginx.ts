import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@switchyard/testkit";
import { Child } from "../measure/children.ts";
import { findProgram } from "../measure/find-program.ts";
import { waitForPort } from "./wait-for-port.ts";
import { Skipped, type StartVariant } from "./variant.ts";

// Streams unbuffered, and a prompt kept in memory: nothing touches the disk, and no connection is closed for its age.
function config(folder: string, port: number, upstreamPort: number): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  );
  return `daemon off;
worker_processes 1;
pid ${join(folder, "nginx.pid")};
error_log stderr error;
events { worker_connections 512; }
http {
  access_log off;
  ${temporary.join("\n  ")}
  client_body_buffer_size 1m;
  client_max_body_size 10m;
  keepalive_requests 100000000;
  keepalive_timeout 300s;
  tcp_nodelay on;
  upstream provider { server 127.0.0.1:${upstreamPort}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}

/** nginx as a plain proxy with one worker. */
export const startNginx: StartVariant = async (around) => {
  const binary = findProgram("nginx");
  if (binary === undefined) throw new Skipped("nginx is neither in PATH nor in /usr/sbin");
  const folder = join(around.folder, "nginx");
  mkdirSync(folder);
  // Started by root, its worker is another user.
  chmodSync(around.folder, 0o755);
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, config(folder, port, around.upstreamPort));
  const child = new Child(binary, ["-p", folder, "-e", "stderr", "-c", file], {
    core: around.cores.variant,
    lastSignal: "SIGTERM",
  });
  await waitForPort(port, child);
  return { port, headers: [], pids: [child.pid], stop: () => child.stop() };
};
