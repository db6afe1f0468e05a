// Keeping strangers out: whoever may not come in is refused before anything reaches a server.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import { assertOurError, command, textOf, until } from './harness.mjs';
import { Gateway, Trip, certificates, httpServer, serve } from './http_harness.mjs';

const token = (name, rules = {}) => {
  const secret = randomBytes(24).toString('base64url');
  const hash = `sha256:${createHash('sha256').update(secret).digest('hex')}`;
  return { secret, entry: { name, hash, ...rules } };
};

const INITIALIZE = {
  jsonrpc: '2.0', id: 1, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'stranger', version: '1' } },
};

/** Tries every verb with these headers; all must be refused with `status`, and nothing reaches the server. */
async function refused(gateway, server, headers, status, endpoint = '/mcp/http') {
  const before = server.deliveries.length;
  for (const [verb, body] of [['POST', INITIALIZE], ['GET', undefined], ['DELETE', undefined]]) {
    const stranger = gateway.client(endpoint);
    const trip = stranger.trip(verb, { body, headers });
    await trip.ended;
    assert.equal(trip.status, status, `${verb} with ${JSON.stringify(headers)}: ${trip.status} ${trip.text.slice(0, 200)}`);
    assert.equal(trip.headers['mcp-session-id'], undefined);
  }
  assert.equal(server.deliveries.length, before, 'nothing reached the server');
}

async function guarded(t, { holdfast, keys, more = {} } = {}) {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server, relistMs: 0, ...keys }, ...more }, holdfast });
  await until(() => server.isSettled, 'the server to be listed');
  return { server, gateway };
}

test('a_page_on_another_origin_is_refused', async (t) => {
  const { server, gateway } = await guarded(t);
  const { port } = gateway;
  for (const origin of ['https://evil.example', 'http://127.0.0.1:1', `http://localhost:${port}.evil.example`, 'null', 'file://']) {
    await refused(gateway, server, { origin }, 403);
  }
  for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
    const client = await gateway.join('/mcp/http', { headers: { origin } });
    assert.ok((await client.toolNames()).includes('pay'));
  }
  await gateway.finish();
});

test('a_host_that_is_not_ours_is_refused', async (t) => {
  const { server, gateway } = await guarded(t);
  const { port } = gateway;
  for (const host of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, `localhost:${port === 1 ? 2 : 1}`, `127.0.0.2:${port}`]) {
    await refused(gateway, server, { host }, 403);
  }
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`]) {
    const client = await gateway.join('/mcp/http', { headers: { host } });
    assert.ok((await client.toolNames()).includes('pay'), host);
  }
  await gateway.finish();
});

test('hosts_and_origins_that_the_operator_names_are_ours_too', async (t) => {
  const { server, gateway } = await guarded(t, { holdfast: { hosts: ['gateway.example'], origins: ['https://app.example'] } });
  const client = await gateway.join('/mcp/http', { headers: { host: 'gateway.example', origin: 'https://app.example' } });
  assert.ok((await client.toolNames()).includes('pay'));
  await refused(gateway, server, { host: 'other.example' }, 403);
  await refused(gateway, server, { origin: 'https://other.example' }, 403);
  await gateway.finish();
});

// As a browser does it: first it asks, without the token, for every header that the page wants to send and that is not safe.
test('a_browser_lets_a_page_of_a_named_origin_make_requests_of_both_eras', async (t) => {
  const mine = token('mine');
  const { server, gateway } = await guarded(t, { holdfast: { origins: ['https://app.example'], tokens: [mine.entry] } });
  const wanted = ['authorization', 'content-type', 'last-event-id', 'mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-param-region'];
  const preflight = async (origin) => {
    const trip = new Trip(gateway, 'OPTIONS', '/mcp/http', {
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': wanted.join(',') },
    });
    await trip.ended;
    return trip;
  };
  const { status, headers } = await preflight('https://app.example');
  assert.equal(status, 204);
  assert.equal(headers['access-control-allow-origin'], 'https://app.example');
  const allowed = headers['access-control-allow-headers'].toLowerCase().split(/, */);
  assert.deepEqual(wanted.filter((name) => !allowed.includes(name)), []);
  for (const verb of ['GET', 'POST', 'DELETE']) assert.match(headers['access-control-allow-methods'], new RegExp(verb));
  const evil = await preflight('https://evil.example');
  assert.equal(evil.status, 403);
  assert.equal(evil.headers['access-control-allow-origin'], undefined);
  const client = await gateway.join('/mcp/http', { headers: { origin: 'https://app.example', authorization: `Bearer ${mine.secret}` } });
  assert.ok((await client.toolNames()).includes('pay'));
  assert.equal(server.count('initialize'), 1);
  await gateway.finish();
});

test('no_token_and_a_wrong_token_are_refused_and_the_right_one_is_not', async (t) => {
  const mine = token('mine');
  const { server, gateway } = await guarded(t, { holdfast: { tokens: [mine.entry, token('other').entry] } });
  await refused(gateway, server, {}, 401);
  for (const authorization of ['Bearer', 'Bearer ', 'Bearer wrong', `Bearer ${mine.secret}x`, `Bearer ${mine.secret.slice(1)}`, `Basic ${mine.secret}`, mine.secret,
    `Bearer ${mine.entry.hash}`, `Bearer ${mine.entry.hash.slice(7)}`]) {
    await refused(gateway, server, { authorization }, 401);
  }
  const said = gateway.client('/mcp/http').trip('POST', { body: INITIALIZE });
  await said.ended;
  assert.match(said.headers['www-authenticate'], /^Bearer/);
  await gateway.waitForStderr(/ warn refused a request from 127\.0\.0\.1: it has no token/);
  await gateway.waitForStderr(/ warn refused a request from 127\.0\.0\.1: its token is not known here/);
  assert.doesNotMatch(gateway.stderr, new RegExp(mine.secret.slice(1)), 'no token is in the log, whole or in part');
  const client = await gateway.join('/mcp/http', { token: mine.secret });
  assert.equal(textOf(await client.call('pay', { key: 'k' })), 'paid k');
  const lower = await gateway.join('/mcp/http', { headers: { authorization: `bearer ${mine.secret}` } });
  assert.ok((await lower.toolNames()).includes('pay'), 'the scheme is not case-sensitive');
  await gateway.finish();
});

test('a_session_can_only_be_used_with_the_token_that_opened_it', async (t) => {
  const [mine, other] = [token('mine'), token('other')];
  const { server, gateway } = await guarded(t, { holdfast: { tokens: [mine.entry, other.entry] } });
  const client = await gateway.join('/mcp/http', { token: mine.secret });
  const thief = gateway.client('/mcp/http', { token: other.secret });
  thief.session = client.session;
  const call = thief.call('pay', { key: 'stolen' });
  await assert.rejects(call);
  assert.equal(call.trip.status, 404);
  assert.deepEqual(server.effects, []);
  textOf(await client.call('pay', { key: 'k' }));
  await gateway.finish();
});

test('a_token_for_another_server_is_refused_at_the_endpoint_and_sees_nothing_in_the_aggregate', async (t) => {
  const mine = token('mine', { servers: ['mine'] });
  const other = await httpServer(t);
  const { server, gateway } = await guarded(t, { holdfast: { tokens: [mine.entry] }, more: { mine: { http: other } } });
  const headers = { authorization: `Bearer ${mine.secret}` };
  await refused(gateway, server, headers, 403);
  const client = await gateway.join('/mcp', { token: mine.secret });
  const names = await client.toolNames();
  assert.ok(names.includes('mine__pay'));
  assert.ok(names.every((name) => name.startsWith('mine__')), names.join(' '));
  const before = server.deliveries.length;
  const answer = await client.call('http__pay', { key: 'no' });
  assert.ok(answer.error, JSON.stringify(answer));
  assert.ok([-31007, -32602].includes(answer.error.code));
  assert.equal(server.deliveries.length, before);
  textOf(await client.call('mine__pay', { key: 'yes' }));
  await gateway.finish();
});

// @field A14: who may call what is decided before anything waits or is sent, also while the server is down
test('a_tool_that_a_token_may_not_call_is_denied_at_once_also_while_the_server_is_down', async (t) => {
  const reader = token('reader', { servers: ['http'], allow: ['http__echo', 'http__p*'], deny: ['http__pay'] });
  const { server, gateway } = await guarded(t, {
    holdfast: { tokens: [reader.entry] }, keys: { reconnect: { minMs: 60000, maxMs: 60000, jitter: 0 }, waitMs: 120000 },
  });
  const client = await gateway.join('/mcp/http', { token: reader.secret });
  assert.deepEqual((await client.toolNames()).sort(), ['echo', 'progress']);
  const before = server.deliveries.length;
  assertOurError(await client.call('pay', { key: 'no' }), -31007, { dispatched: false, retry: 'no' });
  assertOurError(await client.call('hold', { key: 'no' }), -31007);
  assert.equal(server.deliveries.length, before);
  textOf(await client.call('echo', { text: 'hello' }));
  await server.stop();
  const waiting = client.call('echo', { text: 'waits' });
  await gateway.waitForStderr(/refused/i);
  assertOurError(await client.call('pay', { key: 'no' }), -31007, { dispatched: false });
  assert.equal(waiting.trip.isEnded, false, 'one that may is still waiting');
  waiting.trip.abort();
  assert.deepEqual(server.effects, []);
  await gateway.finish();
});

test('the_servers_own_allow_and_deny_hold_for_every_token_and_while_it_is_down', async (t) => {
  const { server, gateway } = await guarded(t, {
    keys: { allow: ['pay', 'echo'], deny: ['echo'], reconnect: { minMs: 60000, maxMs: 60000, jitter: 0 } },
  });
  const client = await gateway.join('/mcp/http');
  assert.deepEqual(await client.toolNames(), ['pay']);
  assertOurError(await client.call('echo', { text: 'no' }), -31007);
  await server.stop();
  assertOurError(await client.call('echo', { text: 'no' }), -31007, { dispatched: false });
  await gateway.finish();
});

test('a_clients_token_never_travels_to_a_server', async (t) => {
  const mine = token('mine');
  const { server, gateway } = await guarded(t, { holdfast: { tokens: [mine.entry] }, keys: { headers: { 'X-Mine': 'kept', Authorization: 'Bearer for-the-server' } } });
  const client = await gateway.join('/mcp/http', { token: mine.secret, headers: { authorization: `Bearer ${mine.secret}`, cookie: 'a=b', 'x-other': 'stays here' } });
  const seen = JSON.parse(textOf(await client.call('headers')));
  assert.equal(seen.authorization, 'Bearer for-the-server');
  assert.equal(seen['x-mine'], 'kept');
  assert.equal(seen.cookie, undefined);
  assert.equal(seen['x-other'], undefined);
  for (const delivery of server.deliveries) assert.doesNotMatch(JSON.stringify(delivery), new RegExp(mine.secret));
  assert.doesNotMatch(gateway.stderr + gateway.stdout, new RegExp(mine.secret));
  await gateway.finish();
});

test('a_listen_that_is_not_loopback_is_refused_without_tokens_and_served_with_them', async (t) => {
  const server = await httpServer(t);
  const open = new Gateway(t, { servers: { http: { http: server } }, listen: '0.0.0.0:0' });
  await open.exited;
  assert.ok(open.exit.code > 0, JSON.stringify(open.exit));
  assert.match(open.stderr, /token/);
  const mine = token('mine');
  const closed = new Gateway(t, { servers: { http: { http: server } }, listen: '0.0.0.0:0', holdfast: { tokens: [mine.entry], hosts: ['127.0.0.1'] } });
  await closed.ready();
  closed.address = '127.0.0.1';
  const health = await closed.get('/healthz', { host: `127.0.0.1:${closed.port}` });
  assert.equal(health.status, 200);
  const metrics = await closed.get('/metrics', { host: `127.0.0.1:${closed.port}` });
  assert.equal(metrics.status, 401, 'metrics need a token where strangers can come');
  await closed.finish();
});

test('loopback_without_tokens_says_so_at_start', async (t) => {
  const { gateway } = await guarded(t);
  assert.match(gateway.stdout + gateway.stderr, /token/);
  await gateway.finish();
});

test('a_made_token_works_with_the_entry_that_was_printed_beside_it', async (t) => {
  const made = await command(['token', '--name', 'ada']);
  assert.equal(made.code, 0, made.stderr);
  const entry = JSON.parse(made.stdout.match(/\{[^{}]*"hash"[^{}]*\}/)[0]);
  assert.equal(entry.name, 'ada');
  assert.match(entry.hash, /^sha256:[0-9a-f]{64}$/);
  const secret = made.stdout.split(/\s+/).find((word) => `sha256:${createHash('sha256').update(word).digest('hex')}` === entry.hash);
  assert.ok(secret, `the token itself is printed once:\n${made.stdout}`);
  assert.notEqual((await command(['token', '--name', 'ada'])).stdout, made.stdout);
  const { gateway } = await guarded(t, { holdfast: { tokens: [entry] } });
  const client = await gateway.join('/mcp/http', { token: secret });
  assert.ok((await client.toolNames()).includes('pay'));
  await gateway.finish();
});

test('a_tls_listen_serves_over_tls_and_nothing_in_the_clear', async (t) => {
  const { ca, certFile, keyFile } = certificates();
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } }, holdfast: { tls: { cert: certFile, key: keyFile } } });
  assert.equal(gateway.scheme, 'https');
  gateway.ca = fs.readFileSync(ca);
  const client = await gateway.join('/mcp/http');
  assert.equal(textOf(await client.call('pay', { key: 'k' })), 'paid k');
  const call = client.call('hold', { key: 'h' });
  await call.trip.event((event) => event.id !== undefined, 'a stream over TLS');
  server.release('h');
  textOf(await call);
  const clear = { scheme: 'http', address: gateway.address, port: gateway.port };
  const trip = new Trip(clear, 'GET', '/healthz');
  await trip.ended;
  assert.notEqual(trip.status, 200);
  await gateway.finish();
});

test('health_and_readiness_need_no_token_and_tell_nothing_else', async (t) => {
  const { server, gateway } = await guarded(t, { holdfast: { tokens: [token('mine').entry] } });
  await server.stop();
  for (const page of ['/healthz', '/readyz']) {
    const trip = await gateway.get(page);
    assert.equal(trip.status, 200, page);
    assert.ok(trip.text.length < 100 && !/http|mcp|version/i.test(trip.text), trip.text);
  }
  await gateway.finish();
});
