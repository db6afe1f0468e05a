// /healthz and /readyz as a supervisor sees them: the process, and whether to send it requests.
import test from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { textOf, until } from './harness.mjs';
import { httpServer, serve } from './http_harness.mjs';

const token = (name, more = {}) => ({ name, hash: `sha256:${createHash('sha256').update(`hf_${name}`).digest('hex')}`, ...more });
const NOBODY = { url: 'http://127.0.0.1:1/mcp', reconnect: { minMs: 20, maxMs: 20, jitter: 0, firstAttempts: -1 } };
const ready = async (gateway, headers) => {
  const { status, text } = await gateway.get('/readyz', headers);
  return [status, text];
};
const readyIs = (gateway, status) => until(async () => (await ready(gateway))[0] === status, `/readyz to say ${status}`);

test('it_is_not_ready_until_one_server_was_connected_and_then_stays_so_without_it', async (t) => {
  const server = await httpServer(t);
  const { url } = server;
  await server.stop();
  const gateway = await serve(t, { servers: { pay: { url, reconnect: NOBODY.reconnect }, other: NOBODY } });
  assert.equal((await gateway.get('/healthz')).status, 200, 'the process is well');
  const [status, text] = await ready(gateway);
  assert.equal(status, 503);
  assert.match(text, /^not ready: no server was connected yet\npay: \w+.*\nother: \w+.*\n$/);
  await server.start();
  await readyIs(gateway, 200);
  await server.stop();
  const client = await gateway.join('/mcp/pay');
  client.call('pay', { key: 'k' });
  await gateway.waitForStderr(/reconnecting/);
  assert.deepEqual(await ready(gateway), [200, 'ready\n'], 'its calls are told what is down');
  await gateway.finish();
});

test('a_required_server_that_is_down_makes_it_unready_and_only_who_may_come_in_learns_which', async (t) => {
  const server = await httpServer(t);
  const tokens = [token('all'), token('less', { servers: ['pay'] })];
  const gateway = await serve(t, { servers: { pay: { http: server }, vital: { ...NOBODY, required: true } }, holdfast: { tokens } });
  await until(() => server.isSettled, 'the other one to be connected');
  assert.deepEqual(await ready(gateway), [503, 'not ready: a required server is not connected\n']);
  assert.deepEqual(await ready(gateway, { authorization: 'Bearer wrong' }), [503, 'not ready: a required server is not connected\n']);
  assert.deepEqual(await ready(gateway, { authorization: 'Bearer hf_less' }), [503, 'not ready: a required server is not connected\n']);
  const [, text] = await ready(gateway, { authorization: 'Bearer hf_all' });
  assert.match(text, /^not ready: a required server is not connected\nvital: \w+/);
  const client = await gateway.join('/mcp', { token: 'hf_all' });
  textOf(await client.call('pay__pay', { key: 'k' }));
  await gateway.finish();
});

test('servers_that_rest_are_ready_also_required_ones', async (t) => {
  const gateway = await serve(t, { servers: { lazy: { start: 'lazy', required: true }, idle: { idleMs: 50, required: true } } });
  await readyIs(gateway, 200);
  await gateway.waitForStderr(/disconnected/);
  assert.deepEqual(await ready(gateway), [200, 'ready\n']);
  await gateway.finish();
});
