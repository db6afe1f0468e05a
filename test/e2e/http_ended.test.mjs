// Sessions that end under their calls: who still reads is told how far its call got, and nobody has a reason to send it again.
import test from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { assertOurError, textOf, until } from './harness.mjs';
import { httpServer, serve } from './http_harness.mjs';

const SECRET = 'hf_of_the_gateway_before';
const HASH = `sha256:${createHash('sha256').update(SECRET).digest('hex')}`;

/** The same token with another policy: its sessions are ended. */
function reload(gateway, deny) {
  const config = JSON.parse(fs.readFileSync(gateway.config, 'utf8'));
  config.holdfast.tokens[0].deny = deny;
  fs.writeFileSync(path.join(gateway.dir, 'next.json'), JSON.stringify(config));
  fs.renameSync(path.join(gateway.dir, 'next.json'), gateway.config);
  gateway.child.kill('SIGHUP');
}

for (const era of ['legacy', 'modern']) {
  test(`a_session_that_ends_under_a_call_gives_a_${era}_gateway_before_it_no_reason_to_send_it_again`, async (t) => {
    const server = await httpServer(t);
    const inner = await serve(t, { servers: { http: { http: server } }, holdfast: { tokens: [{ name: 'outer', hash: HASH }] } });
    const url = `${inner.origin}/mcp/http`;
    const outer = await serve(t, { servers: { far: { url, era, headers: { Authorization: `Bearer ${SECRET}` } } } });
    const client = await outer.join('/mcp/far');
    assert.ok((await client.toolNames()).includes('hold'));
    const call = client.call('hold', { key: 'k' });
    await until(() => server.ran('k') === 1, 'the call to run');
    reload(inner, ['nothing']);
    assertOurError(await call, -31002, { dispatched: true, retry: 'check_first' });
    assert.equal(textOf(await client.call('pay', { key: 'next' })), 'paid next');
    assert.equal(server.delivered('k'), 1, 'by the log of the server behind both');
    server.release('k');
    await outer.finish();
    await inner.finish();
  });
}

test('a_delete_with_calls_in_flight_answers_each_as_far_as_it_got', async (t) => {
  const [server, away] = [await httpServer(t), await httpServer(t)];
  const gateway = await serve(t, { servers: { http: { http: server }, away: { http: away, reconnect: { minMs: 60000, maxMs: 60000, jitter: 0 }, waitMs: 120000 } } });
  const client = await gateway.join('/mcp');
  await client.toolNames();
  await away.stop();
  const [quick, long, waiting] = [client.call('http__hold', { key: 'quick' }), client.call('http__hold', { key: 'long' }), client.call('away__pay', { key: 'never' })];
  await until(() => server.ran('quick') && server.ran('long') && long.trip.isStream, 'one of them to be a stream');
  await gateway.waitForStderr(/refused/i);
  await client.trip('DELETE').ended;
  assertOurError(await quick, -31002, { dispatched: true, retry: 'check_first' });
  assertOurError(await long, -31002, { dispatched: true, retry: 'check_first' });
  assertOurError(await waiting, -31001, { dispatched: false, retry: 'later', evidence: 'unsent' });
  for (const call of [quick, long, waiting]) assert.equal(call.trip.status, 200);
  await until(() => server.count('notifications/cancelled') === 2, 'the server to be told');
  await gateway.finish();
});
