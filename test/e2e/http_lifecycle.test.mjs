// A remote server's life: connecting at its pace, logins nobody can give, large events, headers, and its end.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { assertOurError, scratch, textOf, until } from './harness.mjs';
import { Gateway, connectedTo, httpServer, serve, sseServer, stdioTo } from './http_harness.mjs';

const SOON = { minMs: 20, maxMs: 40, jitter: 0 };
const attempts = (server) => server.deliveries.filter((d) => d.method === 'initialize');

// ---- the end of a session ----

// @field B20: closing tells the server once with a DELETE, as well as it can, and never anything after it
test('closing_ends_the_servers_session_with_one_delete_and_says_nothing_after_it', async (t) => {
  const server = await httpServer(t, { hasGet: true });
  const hf = await connectedTo(t, server);
  textOf(await hf.call('pay', { key: 'k' }));
  const session = [...server.sessions.keys()][0];
  await hf.finish();
  assert.equal(server.count('DELETE'), 1);
  assert.equal(server.deliveries.at(-1).verb, 'DELETE');
  assert.equal(server.deliveries.at(-1).session, session);
  assert.equal(server.sessions.size, 0);
});

test('a_server_that_refuses_or_never_answers_the_delete_holds_nobody_up', async (t) => {
  for (const answer of [(x) => x.status(405), (x) => x.status(500), (x) => x.socket.destroy(), () => {}]) {
    const server = await httpServer(t);
    const hf = await connectedTo(t, server, { closeMs: 100, termMs: 100, killMs: 100 });
    server.front = (x) => x.request.method === 'DELETE' && (answer(x), true);
    await hf.finish();
    assert.equal(server.count('DELETE'), 1);
  }
});

// ---- pace ----

// @field D14: a server that is overloaded at connect is tried again at its own pace, Retry-After honoured
test('retry_after_paces_the_attempts_to_connect', async (t) => {
  const server = await httpServer(t);
  const times = [];
  server.front = (x) => {
    if (x.message.method !== 'initialize' || times.length >= 3) return false;
    times.push(performance.now());
    x.status([429, 503, 500][times.length - 1], { headers: times.length < 3 ? { 'retry-after': '1' } : {} });
    return true;
  };
  const hf = stdioTo(t, server, { reconnect: SOON, listWaitMs: 20000 });
  await hf.initialize();
  assert.ok((await hf.toolNames()).includes('pay'));
  assert.equal(times.length, 3);
  for (const i of [1, 2]) assert.ok(times[i] - times[i - 1] >= 990, `attempt ${i} came ${times[i] - times[i - 1]} ms after the one before`);
  const last = attempts(server).at(-1).at - times[2];
  assert.ok(last < 900, `without Retry-After the schedule is our own again: ${last} ms`);
  await hf.finish();
});

// @field D14: each of the answers that pace a client is a failed attempt, not an answer about the server's age or a login
test('overloaded_and_broken_servers_are_tried_again_until_they_serve', async (t) => {
  for (const status of [408, 429, 500, 502, 503, 504, 529]) {
    const server = await httpServer(t);
    server.front = (x) => x.message.method === 'initialize' && attempts(server).length <= 3 && !x.status(status);
    const hf = stdioTo(t, server, { reconnect: SOON, listWaitMs: 20000 });
    await hf.initialize();
    assert.ok((await hf.toolNames()).includes('pay'), String(status));
    assert.equal(attempts(server).length, 4, String(status));
    assert.ok(server.deliveries.every((d) => d.verb === 'POST' || d.session), 'nobody took it for an old HTTP+SSE server');
    await hf.finish();
  }
});

// @field D12: settings are per server; state, restarts and the last error can be read; what was given up comes back | DESIGN 5: one set of options instead of named profiles
test('a_remote_server_that_was_given_up_says_why_and_comes_back_by_itself', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: { ...SOON, attempts: 3, probeMs: 400 }, waitMs: 300 });
  const names = await hf.toolNames();
  await server.stop();
  const gaveUp = async () => {
    const answer = await hf.call('pay', { key: 'no' });
    return answer.error?.code === -31004 && answer;
  };
  const answer = await until(gaveUp, 'it to give up');
  assertOurError(answer, -31004, { dispatched: false, retry: 'later', state: 'permanently_failed' });
  assert.match(JSON.stringify(answer.error), /refused/i);
  assert.deepEqual(await hf.toolNames(), []);
  await server.start();
  await until(async () => (await hf.toolNames()).length > 0, 'the probe to bring it back');
  assert.deepEqual(await hf.toolNames(), names);
  textOf(await hf.call('pay', { key: 'yes' }));
  assert.deepEqual(server.effects, ['yes']);
  await hf.finish();
});

// ---- logins ----

// @field D15: a login that is asked for is reported as "auth required"; nothing loops and nothing is opened
test('a_server_that_asks_for_a_login_is_reported_as_such_and_not_asked_again_and_again', async (t) => {
  for (const status of [401, 403]) {
    const server = await httpServer(t);
    server.front = (x) => !x.status(status, { headers: { 'www-authenticate': 'Bearer resource_metadata="http://x/"' } });
    const hf = stdioTo(t, server, { reconnect: SOON, waitMs: 300, listWaitMs: 200 });
    await hf.initialize();
    assert.deepEqual(await hf.toolNames(), []);
    const told = await until(async () => {
      const { error } = await hf.call('pay', { key: 'no' });
      return /auth required/.test(JSON.stringify(error)) && error;
    }, 'the reason');
    assert.equal(told.data.dispatched, false);
    const asked = server.deliveries.length;
    for (let i = 0; i < 5; i++) assert.ok((await hf.call('pay', { key: 'no' })).error);
    assert.ok(server.deliveries.length - asked <= 1, `asked ${server.deliveries.length - asked} times more`);
    assert.ok(server.deliveries.every((d) => d.method !== 'tools/call'));
    await hf.finish();
  }
});

test('a_call_that_needs_a_login_of_its_own_is_passed_back_and_the_session_stays', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server);
  const answer = await hf.call('status', { key: 'k', status: 401, headers: { 'www-authenticate': 'Bearer' }, body: 'login' });
  assertOurError(answer, -31009, { dispatched: true, retry: 'check_first' }); // a ping needs none: it may be the tool that said so
  assert.match(JSON.stringify(answer.error), /auth required|401/);
  assert.equal(server.delivered('k'), 1);
  assert.equal(server.count('initialize'), 1);
  await hf.finish();
});

test('a_login_that_a_ping_needs_as_well_came_before_anything_ran', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server);
  server.front = (x) => x.message.method !== undefined && !x.status(401, { headers: { 'www-authenticate': 'Bearer' }, body: 'login' });
  const answer = await hf.call('pay', { key: 'k' });
  assertOurError(answer, -31009, { dispatched: false, retry: 'no' });
  assert.match(JSON.stringify(answer.error), /auth required|401/);
  assert.equal(server.ran('k'), 0);
  await hf.finish();
});

// ---- bytes ----

// @field Y14: a result in one event of many megabytes arrives; one over the limit fails that call alone
test('a_very_long_event_arrives_whole_and_one_over_the_limit_fails_only_its_call', async (t) => {
  const server = await httpServer(t, { style: 'sse' });
  const hf = await connectedTo(t, server, {}, { holdfast: { maxMessageBytes: 4 << 20 } });
  for (const bytes of [64 << 10, 1 << 20, 3 << 20]) assert.equal(textOf(await hf.call('big', { key: `b${bytes}`, bytes })).length, bytes);
  const data = assertOurError(await hf.call('big', { key: 'over', bytes: 6 << 20 }), -31006, { dispatched: true, retry: 'check_first' });
  assert.ok(data);
  server.style = 'json';
  assertOurError(await hf.call('big', { key: 'over-json', bytes: 6 << 20 }), -31006, { dispatched: true });
  assert.equal(server.delivered('over'), 1);
  assert.equal(server.count('initialize'), 1, 'the session lives on');
  textOf(await hf.call('pay', { key: 'next' }));
  await hf.finish();
});

// @field Y17: headers of the operator's choice go with every request, and each legacy version of the protocol is spoken
test('configured_headers_go_with_every_request_and_variables_in_them_are_expanded', async (t) => {
  const server = await httpServer(t, { hasGet: true });
  const hf = await connectedTo(t, server, { headers: { Authorization: 'Bearer ${E2E_SECRET}', 'X-Team': 'blue' } }, { env: { E2E_SECRET: 's3cret' } });
  textOf(await hf.call('pay', { key: 'k' }));
  await until(() => server.count('GET') > 0, 'the listening stream');
  await hf.finish();
  assert.ok(['initialize', 'notifications/initialized', 'tools/list', 'tools/call', 'GET', 'DELETE'].every((what) => server.count(what) > 0));
  for (const { headers, method, verb } of server.deliveries) {
    assert.equal(headers.authorization, 'Bearer s3cret', `${verb} ${method}`);
    assert.equal(headers['x-team'], 'blue');
  }
});

test('the_agreed_version_travels_in_its_header_after_the_handshake', async (t) => {
  for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
    const server = await httpServer(t, { hasGet: true });
    server.initializeResult = () => ({ protocolVersion: version, capabilities: server.capabilities, serverInfo: { name: 'x', version: '1' } });
    const hf = await connectedTo(t, server);
    textOf(await hf.call('pay', { key: 'k' }));
    await hf.finish();
    const after = server.deliveries.filter((d) => !['server/discover', 'initialize'].includes(d.method));
    for (const { headers } of after) assert.equal(headers['mcp-protocol-version'], version);
    for (const { headers, verb } of after.filter((d) => d.verb === 'POST')) {
      assert.match(headers.accept, /application\/json/, verb);
      assert.match(headers.accept, /text\/event-stream/);
      assert.match(headers['content-type'], /^application\/json/);
    }
  }
});

test('cookies_that_a_server_sets_come_back_to_it', async (t) => {
  const server = await httpServer(t);
  server.front = (x) => { if (x.message.method === 'initialize') x.response.setHeader('set-cookie', 'sticky=node7; Path=/; HttpOnly'); return false; };
  const hf = await connectedTo(t, server);
  textOf(await hf.call('pay', { key: 'k' }));
  assert.match(server.deliveries.find((d) => d.key === 'k').headers.cookie ?? '', /sticky=node7/);
  await hf.finish();
});

// @field Z10: no secret of a header, an URL or a token is in a log, an error or a metric
test('secrets_are_in_no_log_error_or_metric', async (t) => {
  const server = await httpServer(t);
  const secret = 'pa55word-0123456789';
  const url = server.url.replace('http://', `http://user:${secret}@`) + `?key=${secret}`;
  server.path = `/mcp?key=${secret}`;
  const gateway = await serve(t, {
    servers: { http: { url, headers: { Authorization: `Bearer ${secret}`, 'X-Key': secret }, reconnect: SOON, waitMs: 200 } },
    options: ['--log-level', 'debug'],
  });
  const client = await gateway.join('/mcp/http', { headers: { 'x-mine': secret } });
  const heard = [];
  heard.push(await client.call('pay', { key: 'k' }));
  heard.push(await client.call('status', { key: 'a', status: 401, body: 'no' }));
  heard.push(await client.call('status', { key: 'b', status: 500, body: 'no' }));
  await server.stop();
  heard.push(await client.call('pay', { key: 'down' }));
  const metrics = await gateway.get('/metrics');
  assert.ok(gateway.stderr.length > 0);
  for (const words of [gateway.stderr, gateway.stdout, metrics.text, JSON.stringify(heard)]) assert.doesNotMatch(words, new RegExp(secret));
  await gateway.finish();
});

// ---- which transport ----

test('an_old_server_is_found_by_its_answer_to_initialize_and_only_then_spoken_to_in_its_own_way', async (t) => {
  const server = await sseServer(t);
  const hf = await connectedTo(t, server);
  textOf(await hf.call('pay', { key: 'k' }));
  assert.equal(server.deliveries[0].verb, 'POST', 'the newer way is tried first');
  assert.deepEqual(server.effects, ['k']);
  await hf.finish();
});

test('a_transport_that_was_configured_is_the_only_one_tried', async (t) => {
  const old = await sseServer(t);
  const hf = stdioTo(t, old, { transport: 'http', reconnect: SOON, waitMs: 200, listWaitMs: 200 });
  await hf.initialize();
  assert.deepEqual(await hf.toolNames(), []);
  assert.ok(old.deliveries.every((d) => d.verb === 'POST'));
  await hf.finish();
  const again = await connectedTo(t, old, { transport: 'sse' });
  textOf(await again.call('pay', { key: 'k' }));
  await again.finish();
});

test('calls_in_flight_on_an_old_servers_stream_that_breaks_are_unknown_and_later_ones_wait', async (t) => {
  const server = await sseServer(t);
  const hf = await connectedTo(t, server, { transport: 'sse', reconnect: SOON });
  const held = hf.call('hold', { key: 'held' });
  await until(() => server.ran('held') === 1, 'the call to run');
  await server.restart();
  assertOurError(await held, -31002, { dispatched: true });
  assert.equal(textOf(await hf.call('pay', { key: 'next' })), 'paid next');
  assert.deepEqual(server.effects, ['held', 'next']);
  await hf.finish();
});

// ---- the listening stream ----

// @field Z9: the listening stream is kept open for idle servers, and its loss is no loss of the server
test('a_listening_stream_that_is_refused_or_cut_is_never_fatal', async (t) => {
  const server = await httpServer(t, { hasGet: true });
  const hf = await connectedTo(t, server);
  await until(() => server.count('GET') === 1, 'the listening stream');
  for (let i = 0; i < 3; i++) {
    const opened = server.count('GET');
    [...server.sessions.values()][0].get.cut();
    await until(() => server.count('GET') > opened, 'it to be opened again');
    textOf(await hf.call('pay', { key: `k${i}` }));
  }
  assert.equal(server.count('initialize'), 1);
  server.tools = [...server.tools, { name: 'newcomer', inputSchema: { type: 'object' } }];
  server.announce('notifications/tools/list_changed');
  await hf.waitFor('notifications/tools/list_changed');
  assert.ok((await hf.toolNames()).includes('newcomer'));
  await hf.finish();
});

test('a_server_without_a_listening_stream_is_asked_once', async (t) => {
  const server = await httpServer(t, { hasGet: false });
  const hf = await connectedTo(t, server);
  for (let i = 0; i < 5; i++) textOf(await hf.call('pay', { key: `k${i}` }));
  assert.ok(server.count('GET') <= 1);
  await hf.finish();
});

// ---- serve itself ----

test('serve_stops_in_good_order_waiting_calls_told_and_running_ones_finished', async (t) => {
  const [up, down] = [await httpServer(t), await httpServer(t)];
  const gateway = await serve(t, { servers: { up: { http: up }, down: { http: down, reconnect: SOON } } });
  const client = await gateway.join('/mcp');
  await client.toolNames();
  await down.stop();
  const running = client.call('up__hold', { key: 'running' });
  const waiting = client.call('down__pay', { key: 'waiting' });
  await until(() => up.ran('running') === 1, 'the call to run');
  await gateway.waitForStderr(/refused/i);
  gateway.child.kill('SIGTERM');
  assertOurError(await waiting, -31001, { dispatched: false });
  const late = gateway.client('/mcp').trip('POST', { body: '{}' });
  await late.ended;
  assert.notEqual(late.status, 200, 'nobody new is taken');
  up.release('running');
  assert.equal(textOf(await running), 'paid running');
  await until(() => gateway.exit, 'serve to end');
  assert.deepEqual(gateway.exit, { code: 0, signal: null });
  assert.equal(up.count('DELETE'), 1);
});

test('a_unix_socket_and_the_loopback_of_ipv6_can_be_listened_on_too', async (t) => {
  const server = await httpServer(t);
  const setup = (listen) => ({ servers: { http: { http: server } }, listen });
  const dir = scratch();
  const place = path.relative(dir, path.join(dir, 'holdfast.sock'));
  const local = new Gateway(t, { ...setup(`unix:${place}`), dir });
  await until(() => local.exit || /^listening on unix:/m.test(local.stdout), 'it to listen');
  const health = await new Promise((done, fail) => {
    http.get({ socketPath: path.join(dir, place), path: '/healthz', headers: { host: 'anything' } }, (answer) => { answer.resume(); done(answer); }).on('error', fail);
  });
  assert.equal(health.statusCode, 200);
  await local.finish();
  assert.ok(!fs.existsSync(path.join(dir, place)), 'the socket is removed at the end');
  const six = new Gateway(t, setup('[::1]:0'));
  await six.ready();
  six.address = '::1';
  const client = await six.join('/mcp/http');
  textOf(await client.call('pay', { key: 'six' }));
  await six.finish();
});

test('a_reload_touches_only_the_servers_that_changed', async (t) => {
  const [kept, changed] = [await httpServer(t), await httpServer(t)];
  const gateway = await serve(t, { servers: { kept: { http: kept }, changed: { http: changed } } });
  const client = await gateway.join('/mcp');
  await client.toolNames();
  const config = JSON.parse(fs.readFileSync(gateway.config, 'utf8'));
  config.mcpServers.changed.headers = { 'X-New': 'yes' };
  fs.writeFileSync(path.join(gateway.dir, 'next.json'), JSON.stringify(config));
  fs.renameSync(path.join(gateway.dir, 'next.json'), gateway.config);
  gateway.child.kill('SIGHUP');
  await until(() => changed.deliveries.some((d) => d.headers['x-new'] === 'yes'), 'the changed server to be connected anew');
  textOf(await client.call('kept__pay', { key: 'a' }));
  await until(async () => !(await client.call('changed__pay', { key: 'b' })).error, 'the changed server to serve');
  assert.equal(kept.count('initialize'), 1);
  await gateway.finish();
});
