// What one token's clients do costs those of another none of their calls, and is told and counted.
import test from 'node:test';
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { textOf, until } from './harness.mjs';
import { httpServer, serve } from './http_harness.mjs';

const token = (name, more = {}) => {
  const secret = randomBytes(24).toString('base64url');
  return { secret, entry: { name, hash: `sha256:${createHash('sha256').update(secret).digest('hex')}`, ...more } };
};

async function behind(t, tokens) {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server, relistMs: 0 } }, holdfast: { tokens: tokens.map(({ entry }) => entry) } });
  await until(() => server.isSettled, 'the server to be listed');
  const figure = async (line) => {
    const { text } = await gateway.get('/metrics', { authorization: `Bearer ${tokens[0].secret}` });
    return Number(text.split('\n').find((each) => each.startsWith(`${line} `))?.split(' ')[1] ?? 0);
  };
  return { server, gateway, figure };
}

const batch = (count, from) => Array.from({ length: count }, (_, i) => (
  { jsonrpc: '2.0', id: from + i, method: 'tools/call', params: { name: 'hold', arguments: { key: `held-${from + i}` } } }));

test('hanging_batches_of_one_token_cost_another_none_of_its_calls', async (t) => {
  const [greedy, modest] = [token('greedy', { limits: { calls: 40 } }), token('modest')];
  const { server, gateway, figure } = await behind(t, [greedy, modest]);
  const hanging = await gateway.join('/mcp/http', { token: greedy.secret, version: '2025-03-26' });
  const trips = [hanging.post(batch(100, 1000)), hanging.post(batch(100, 2000))];
  await until(async () => (await figure('holdfast_refused_total{token="greedy",limit="calls"}')) === 170, 'the calls over the share to be refused');
  assert.equal(await figure('holdfast_token_calls{token="greedy"}'), 30, 'one session has three quarters of what its token has');
  const other = await gateway.join('/mcp/http', { token: modest.secret });
  for (let i = 0; i < 20; i++) assert.equal(textOf(await other.call('pay', { key: `k${i}` })), `paid k${i}`);
  assert.equal(await figure('holdfast_refused_total{token="modest",limit="calls"}'), 0);
  for (let i = 0; i < 100; i++) server.release(`held-${1000 + i}`);
  const refused = await trips[0].answer(1099);
  assert.equal(refused.result.isError, true);
  assert.equal(refused.result._meta['dev.holdfast/outcome'].code, -31005);
  assert.match(refused.result.content[0].text, /your share of the calls that may be under way and that your token may have \(its limits\): 30 of 40/);
  assert.equal(trips[0].status, 200);
  await gateway.finish();
});

test('a_batch_of_101_messages_is_refused_whole', async (t) => {
  const one = token('one');
  const { server, gateway } = await behind(t, [one]);
  const client = await gateway.join('/mcp/http', { token: one.secret, version: '2025-03-26' });
  const trip = client.post(batch(101, 1));
  await trip.ended;
  assert.match(trip.text, /at most 100 messages, and this one has 101/);
  assert.equal(server.count('tools/call'), 0);
  await gateway.finish();
});

test('a_token_over_its_rate_gets_429_and_when_to_come_again', async (t) => {
  const [hasty, other] = [token('hasty', { limits: { ratePerMinute: 5 } }), token('other')];
  const { gateway } = await behind(t, [other, hasty]);
  const client = await gateway.join('/mcp/http', { token: hasty.secret });
  const trips = [];
  for (let i = 0; i < 6; i++) {
    const trip = client.post({ jsonrpc: '2.0', id: i, method: 'ping' });
    await trip.ended;
    trips.push(trip);
  }
  assert.equal(trips.at(-1).status, 429);
  assert.ok(Number(trips.at(-1).headers['retry-after']) >= 1);
  assert.match(trips.at(-1).text, /limits\.ratePerMinute/);
  const patient = await gateway.join('/mcp/http', { token: other.secret });
  textOf(await patient.call('pay', { key: 'k' }));
  await gateway.finish();
});
