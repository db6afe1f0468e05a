// Attacks by those who may not come in: they hold nothing of ours, and whoever may come in is served meanwhile.
import test from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import { createHash, randomBytes } from 'node:crypto';
import { PLAIN_HOLDFAST, textOf, until } from './harness.mjs';
import { httpServer, rawConnection, serve } from './http_harness.mjs';

const MB = 1 << 20;
const FILLER = 'x'.repeat(MB);
const secret = randomBytes(24).toString('base64url');
const TOKENS = [{ name: 'mine', hash: `sha256:${createHash('sha256').update(secret).digest('hex')}` }];

async function guarded(t, holdfast) {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server, relistMs: 0 } }, holdfast, program: PLAIN_HOLDFAST });
  await until(() => server.isSettled, 'the server to be listed');
  return { server, gateway };
}

/** A POST whose body is as large as bodies get, of which some comes at once and the rest never. */
function beginBody(gateway, headers, bytes) {
  const raw = rawConnection(gateway);
  raw.socket.write(`POST /mcp/http HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nContent-Length: ${60 * MB}\r\n${headers}\r\n`);
  raw.socket.write(FILLER.slice(0, bytes));
  return raw;
}

const STRANGERS = {
  without_a_token: ['Content-Type: application/json\r\n', { tokens: TOKENS }, 401],
  with_a_wrong_token: ['Content-Type: application/json\r\nAuthorization: Bearer wrong\r\n', { tokens: TOKENS }, 401],
  of_a_web_page_of_another_place: ['Content-Type: text/plain\r\nOrigin: https://evil.example\r\n', {}, 403],
  without_an_origin_as_text: ['Content-Type: text/plain\r\n', {}, 415],
};
for (const [who, [headers, holdfast, status]] of Object.entries(STRANGERS)) {
  for (const [count, bytes] of [[5, MB], [500, 64 * 1024]]) {
    test(`${count}_large_bodies_${who}_hold_nothing_and_a_client_that_may_come_in_is_served`, async (t) => {
      const { server, gateway } = await guarded(t, { maxBufferedBytes: 32 * MB, ...holdfast });
      const client = await gateway.join('/mcp/http', holdfast.tokens ? { token: secret } : {});
      textOf(await client.call('pay', { key: 'before' }));
      const before = gateway.rssKb();
      const strangers = Array.from({ length: count }, () => beginBody(gateway, headers, bytes));
      await until(() => strangers.every((raw) => raw.text.includes('\r\n\r\n')), 'each to be told');
      for (const raw of strangers) assert.match(raw.text, new RegExp(`^HTTP/1.1 ${status} `));
      const held = gateway.rssKb() - before;
      t.diagnostic(`table: ${count} refused bodies: RSS grew by ${held} kB`);
      assert.ok(held < 8 * 1024, `RSS grew by ${held} kB`);
      for (let i = 0; i < 20; i++) textOf(await client.call('pay', { key: `k${i}` }));
      await until(() => strangers.every((raw) => raw.isEnded || raw.isClosed), 'their connections to be closed');
      assert.equal(server.effects.length, 21);
      for (const raw of strangers) raw.socket.destroy();
      await gateway.finish();
    });
  }
}

test('ten_thousand_silent_connections_and_more_shut_nobody_out', async (t) => {
  const { server, gateway } = await guarded(t, { tokens: TOKENS });
  const client = await gateway.join('/mcp/http', { token: secret });
  const stream = await client.listen();
  const silent = [];
  for (let i = 0; i < 10500; i++) {
    const socket = net.connect({ host: gateway.address, port: gateway.port });
    socket.on('error', () => {}).on('close', () => { silent.closed = (silent.closed ?? 0) + 1; });
    silent.push(socket);
    if (i % 100 === 99) await new Promise((done) => { socket.once('connect', done); });
  }
  const late = await gateway.join('/mcp/http', { token: secret });
  for (let i = 0; i < 20; i++) textOf(await late.call('pay', { key: `k${i}` }));
  await until(() => silent.closed >= 500, () => `the longest silent to be closed: ${silent.closed}`);
  assert.equal(stream.isEnded, false, 'a stream is no silent connection');
  assert.equal(server.effects.length, 20);
  for (const socket of silent) socket.destroy();
  await gateway.finish();
});
