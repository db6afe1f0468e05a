// The table of eras behind HTTP: all clients and all servers at one holdfast, each server behind an endpoint of its own.
import { after, before } from 'node:test';
import { scratch } from './harness.mjs';
import { serve } from './http_harness.mjs';
import { SdkServer } from './sdk_harness.mjs';
import { table } from './eras.mjs';

const cleanups = [];
const whole = { after: (fn) => cleanups.push(fn) };
const servers = {};
let gateway;

before(async () => {
  const dir = scratch();
  for (const era of ['legacy', 'modern']) {
    for (const transport of ['stdio', 'http']) {
      const server = new SdkServer(dir, era, transport);
      servers[server.name] = server;
      if (server.isRemote) await server.start(whole);
    }
  }
  const configs = Object.fromEntries(Object.values(servers).map((server) => [server.name, server.config]));
  gateway = await serve(whole, { dir, servers: configs });
});
after(async () => {
  await gateway?.finish();
  for (const fn of cleanups) await fn();
});

table('http', async (t, guest, era, transport) => {
  const server = servers[`${era}-${transport}`];
  await guest.overHttp(t, `${gateway.origin}/mcp/${server.name}`);
  return server;
});
