// The table of eras behind stdio: each client starts a holdfast of its own, `run` or `bridge`.
import { scratch } from './harness.mjs';
import { SdkServer } from './sdk_harness.mjs';
import { table } from './eras.mjs';

table('stdio', async (t, guest, era, transport) => {
  const dir = scratch();
  const server = new SdkServer(dir, era, transport);
  if (server.isRemote) await server.start(t);
  await guest.overStdio(t, dir, server.isRemote ? ['bridge', server.url] : ['run', '--', server.command, ...server.args]);
  return server;
});
