// /metrics: every fact that an operator needs, in a form that Prometheus reads, and true.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, textOf, until } from './harness.mjs';
import { httpServer, serve } from './http_harness.mjs';

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)$/;

/** Reads the exposition format strictly: { 'name{labels}': value }, and the kind of each name. */
function parse(text) {
  const values = {};
  const kinds = {};
  assert.ok(text.endsWith('\n'));
  for (const line of text.trimEnd().split('\n')) {
    const kind = line.match(/^# TYPE (\S+) (counter|gauge|histogram)$/);
    if (kind) kinds[kind[1]] = kind[2];
    if (kind || /^# HELP \S+ \S/.test(line)) continue;
    const [, name, labels, value] = line.match(SAMPLE) ?? assert.fail(`not a sample: ${line}`);
    const family = kinds[name] ? name : name.replace(/_(bucket|sum|count)$/, '');
    assert.ok(kinds[family], `${name} has a type before its first sample`);
    assert.ok(name.startsWith('holdfast_'), name);
    const key = labels === undefined ? name : `${name}{${labels}}`;
    assert.ok(!(key in values), `${key} stands there once`);
    assert.ok(Number.isFinite(Number(value)), line);
    values[key] = Number(value);
  }
  return { values, kinds };
}

async function look(gateway) {
  const trip = await gateway.get('/metrics');
  assert.equal(trip.status, 200);
  assert.match(trip.headers['content-type'], /^text\/plain; version=0\.0\.4/);
  const { values, kinds } = parse(trip.text);
  return { kinds, values, of: (name, labels = '') => values[`holdfast_${name}{server="http"${labels}}`], all: (name) => values[`holdfast_${name}`] };
}

test('metrics_tell_state_generation_reconnects_outcomes_evidence_latency_and_load_truly', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server, reconnect: { minMs: 20, maxMs: 20, jitter: 0 }, waitMs: 200, deny: ['echo'] } } });
  const client = await gateway.join('/mcp/http');
  const other = await gateway.join('/mcp/http');
  await client.toolNames();
  const stream = await other.listen();
  const before = await look(gateway);
  assert.equal(before.of('server_state', ',state="connected"'), 1);
  assert.equal(before.of('server_generation'), 1);
  assert.equal(before.all('sessions'), 2);
  assert.equal(before.all('streams'), 1);
  assert.deepEqual(Object.fromEntries(['calls_total', 'server_state', 'call_seconds'].map((n) => [n, before.kinds[`holdfast_${n}`]])),
    { calls_total: 'counter', server_state: 'gauge', call_seconds: 'histogram' });

  for (let i = 0; i < 3; i++) textOf(await client.call('pay', { key: `k${i}` }));
  assert.ok((await client.call('rpc_error', { key: 'e', code: -1, message: 'no' })).error);
  assertOurError(await client.call('echo', { text: 'denied' }), -31007);
  assertOurError(await client.call('status', { key: 'r', status: 409, body: '' }), -31009);
  const held = [client.call('hold', { key: 'h1' }), client.call('hold', { key: 'h2' })];
  await until(() => server.ran('h1') + server.ran('h2') === 2, 'both to run');
  const during = await look(gateway);
  assert.equal(during.of('in_flight'), 2);
  assert.equal(during.of('waiting'), 0);
  for (const key of ['h1', 'h2']) server.release(key);
  for (const call of held) textOf(await call);
  assertOurError(await client.call('close_without_answer', { key: 'x' }), -31002);
  // one call that is cut off costs nobody else the server: it is looked after, and is there
  await until(async () => (await look(gateway)).of('server_state', ',state="connected"') === 1, 'it to be connected');
  assert.equal((await look(gateway)).of('server_generation'), 1);
  server.forget();
  textOf(await client.call('pay', { key: 'after' }));
  await server.stop();
  assertOurError(await client.call('pay', { key: 'down' }), -31001);
  await server.start();
  await until(async () => (await look(gateway)).of('server_reconnects_total') >= 1, 'it to be connected again');
  await server.stop();
  assertOurError(await client.call('pay', { key: 'down again' }), -31001);
  stream.abort();
  await stream.ended;

  const after = await until(async () => { const m = await look(gateway); return m.all('streams') === 0 && m; }, 'the stream to be counted out');
  const outcomes = Object.fromEntries(['answered', 'error', 'denied', 'rejected', 'outcome_unknown', 'unavailable', 'overloaded']
    .map((outcome) => [outcome, after.of('calls_total', `,outcome="${outcome}"`)]));
  assert.deepEqual(outcomes, { answered: 6, error: 1, denied: 1, rejected: 1, outcome_unknown: 1, unavailable: 2, overloaded: 0 });
  assert.equal(after.of('losses_total', ',evidence="dispatched"'), 1);
  assert.equal(after.of('losses_total', ',evidence="refused"'), 1);
  assert.ok(after.of('losses_total', ',evidence="unsent"') >= 1);
  assert.ok(after.of('server_reconnects_total') >= 1);
  assert.equal(after.of('server_state', ',state="connected"'), 0);
  assert.equal(after.of('server_state', ',state="reconnecting"'), 1);
  assert.equal(after.of('in_flight'), 0);
  assert.ok(after.of('call_seconds_count') >= 6);
  assert.equal(after.of('call_seconds_count'), after.of('call_seconds_bucket', ',le="+Inf"'));
  assert.ok('holdfast_stale_drops_total{server="http"}' in after.values);
  const states = Object.keys(after.values).filter((key) => key.startsWith('holdfast_server_state{server="http"'));
  assert.equal(states.length, 7);
  assert.equal(states.reduce((sum, key) => sum + after.values[key], 0), 1, 'a server is in one state');
  await gateway.finish();
});

test('a_waiting_call_is_counted_while_it_waits', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server, reconnect: { minMs: 50, maxMs: 50, jitter: 0 } } } });
  const client = await gateway.join('/mcp/http');
  await client.toolNames();
  await server.stop();
  const calls = [1, 2, 3].map((i) => client.call('pay', { key: `k${i}` }));
  await until(async () => (await look(gateway)).of('waiting') === 3, 'three to wait');
  await server.start();
  for (const call of calls) textOf(await call);
  assert.equal((await look(gateway)).of('waiting'), 0);
  await gateway.finish();
});

test('names_of_servers_are_escaped_as_the_format_asks', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { 'quo"te\\back': { http: server } } });
  await until(() => server.isSettled, 'it to be connected');
  const { values } = await look(gateway);
  assert.equal(values['holdfast_server_state{server="quo\\"te\\\\back",state="connected"}'], 1);
  await gateway.finish();
});
