// The front as the legacy versions of Streamable HTTP ask for it: JSON or events, resumption, sessions, versions.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, elapse, textOf, until } from './harness.mjs';
import { bridge, httpServer, serve } from './http_harness.mjs';

const PRIMING_MS = 500;
const isPriming = (event) => event.id !== undefined && event.data === '';

/** A fixture behind `serve`, and a client of its own endpoint. */
async function behind(t, { server: options, keys, client: who, holdfast } = {}) {
  const server = await httpServer(t, options);
  const gateway = await serve(t, { servers: { http: { http: server, ...keys } }, holdfast });
  const client = await gateway.join('/mcp/http', who);
  assert.ok((await client.toolNames()).includes('pay'));
  return { server, gateway, client };
}

// ---- JSON or events ----

test('a_call_that_is_answered_at_once_and_has_nothing_else_to_say_is_answered_in_json', async (t) => {
  const { gateway, client } = await behind(t, { server: { style: 'sse' } });
  const call = client.call('pay', { key: 'k' });
  assert.equal(textOf(await call), 'paid k');
  assert.match(call.trip.headers['content-type'], /^application\/json/);
  await gateway.finish();
});

test('progress_and_log_messages_of_a_call_come_on_its_own_stream_before_its_answer', async (t) => {
  const { gateway, client } = await behind(t);
  const call = client.call('progress', { key: 'k', n: 3 }, { meta: { progressToken: 'mine' } });
  textOf(await call);
  await call.trip.ended;
  assert.ok(call.trip.isStream);
  const seen = call.trip.messages.filter((m) => m.method === 'notifications/progress').map((m) => m.params);
  assert.deepEqual(seen.map((p) => [p.progressToken, p.progress]), [['mine', 1], ['mine', 2], ['mine', 3]]);
  assert.equal(call.trip.messages.at(-1).id, call.id);
  await gateway.finish();
});

test('a_call_unanswered_after_half_a_second_turns_into_events_with_a_priming_one_for_2025_11_25', async (t) => {
  const { server, gateway, client } = await behind(t);
  const began = performance.now();
  const call = client.call('hold', { key: 'k' });
  await call.trip.head;
  assert.ok(performance.now() - began >= PRIMING_MS - 1, 'not before');
  assert.equal(call.trip.status, 200);
  assert.ok(call.trip.isStream);
  await call.trip.event(isPriming, 'the priming event');
  server.release('k');
  assert.equal(textOf(await call), 'paid k');
  assert.ok(call.trip.events.every((event) => event.id !== undefined), 'every event can be resumed after');
  await gateway.finish();
});

test('older_clients_get_no_empty_event', async (t) => {
  for (const version of ['2025-03-26', '2025-06-18']) {
    const { server, gateway, client } = await behind(t, { client: { version } });
    const newer = await gateway.join('/mcp/http');
    const call = client.call('hold', { key: version });
    const later = newer.call('hold', { key: 'newer' }); // its priming event tells that the half second is over
    await later.trip.event(isPriming, 'the priming event of the newer client');
    server.release(version);
    server.release('newer');
    assert.equal(textOf(await call), `paid ${version}`);
    assert.ok(!call.trip.events.some((event) => event.data === ''), JSON.stringify(call.trip.events));
    textOf(await later);
    await gateway.finish();
  }
});

// ---- a client that goes away ----

test('a_client_that_leaves_in_the_middle_of_a_call_fetches_its_answer_by_resumption', async (t) => {
  const { server, gateway, client } = await behind(t);
  const call = client.call('hold', { key: 'k' });
  const { id } = await call.trip.event(isPriming, 'the priming event');
  call.trip.abort();
  await call.trip.ended;
  const pong = await client.request('ping');
  assert.ok(pong.result);
  server.release('k');
  const again = await client.listen(id);
  assert.equal(again.status, 200);
  assert.equal(textOf(await again.answer(call.id)), 'paid k');
  await again.ended;
  assert.equal(server.ran('k'), 1);
  assert.equal(server.count('notifications/cancelled'), 0, 'leaving is not cancelling');
  await gateway.finish();
});

test('an_older_client_can_resume_if_an_event_went_out_before_it_left', async (t) => {
  const { server, gateway, client } = await behind(t, { client: { version: '2025-06-18' } });
  const call = client.call('log_then_hold', { key: 'k' });
  const { id } = await call.trip.event((e) => /begun/.test(e.data), 'the log message');
  assert.ok(id, 'an event that went out can be resumed after');
  call.trip.abort();
  await call.trip.ended;
  server.release('k');
  const again = await client.listen(id);
  assert.equal(textOf(await again.answer(call.id)), 'paid k');
  assert.equal(server.ran('k'), 1);
  await gateway.finish();
});

test('the_call_of_a_client_that_left_without_an_event_goes_on_and_runs_once', async (t) => {
  const { server, gateway, client } = await behind(t, { client: { version: '2025-06-18' } });
  const call = client.call('hold', { key: 'k' });
  await until(() => server.ran('k') === 1, 'the call to run');
  call.trip.abort();
  await call.trip.ended;
  textOf(await client.call('pay', { key: 'next' }));
  server.release('k');
  assert.equal(server.count('notifications/cancelled'), 0);
  textOf(await client.call('pay', { key: 'last' }));
  assert.deepEqual(server.effects, ['k', 'next', 'last']);
  await gateway.finish();
});

test('a_call_whose_client_leaves_while_it_waits_unsent_is_dropped_unsent', async (t) => {
  const { server, gateway, client } = await behind(t, { keys: { reconnect: { minMs: 30, maxMs: 60, jitter: 0 } } });
  await server.stop();
  const calls = ['gone-1', 'gone-2'].map((key) => client.call('pay', { key }));
  const stays = client.call('pay', { key: 'stays' });
  await gateway.waitForStderr(/refused/i);
  for (const call of calls) {
    call.trip.abort();
    await call.trip.ended;
  }
  assert.ok((await client.request('ping')).result); // the aborts have been seen when this is answered
  await server.start();
  assert.equal(textOf(await stays), 'paid stays');
  assert.deepEqual(server.effects, ['stays']);
  assert.equal(server.delivered('gone-1') + server.delivered('gone-2'), 0);
  await gateway.finish();
});

// ---- ids ----

test('two_requests_in_flight_with_the_same_id_each_get_their_own_answer', async (t) => {
  const { server, gateway, client } = await behind(t);
  const first = client.call('hold', { key: 'first' }, { id: 1 });
  const second = client.call('hold', { key: 'second' }, { id: 1 });
  const third = client.call('hold', { key: 'third' }, { id: '1' });
  await until(() => server.effects.length === 3, 'all three to run');
  await client.notify('notifications/cancelled', { requestId: 1 }); // nobody can say which: cancels neither
  for (const key of ['second', 'third', 'first']) server.release(key);
  assert.equal(textOf(await first), 'paid first');
  assert.equal(textOf(await second), 'paid second');
  assert.equal(textOf(await third), 'paid third');
  assert.equal(server.count('notifications/cancelled'), 0);
  await gateway.finish();
});

test('a_cancelled_call_is_cancelled_at_the_server_and_its_stream_ends_without_an_answer', async (t) => {
  const { server, gateway, client } = await behind(t);
  const call = client.call('hold', { key: 'k' });
  await until(() => server.ran('k') === 1, 'the call to run');
  assert.equal((await client.notify('notifications/cancelled', { requestId: call.id })).status, 202);
  await call.trip.ended;
  await assert.rejects(call);
  const cancel = await until(() => server.deliveries.find((d) => d.method === 'notifications/cancelled'), 'the cancel');
  assert.equal(cancel.message.params.requestId, server.deliveries.find((d) => d.key === 'k').id);
  await gateway.finish();
});

// ---- requests of the server to the client ----

test('a_servers_question_comes_on_the_stream_of_its_call_and_the_reply_goes_back', async (t) => {
  const { server, gateway, client } = await behind(t, { client: { capabilities: { elicitation: {}, sampling: {} } } });
  const bystander = await gateway.join('/mcp/http', { capabilities: { elicitation: {}, sampling: {} } });
  client.onRequest = () => ({ result: { action: 'accept', content: { name: 'Ada' } } });
  const params = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
  const call = client.call('ask', { key: 'k', method: 'elicitation/create', params });
  assert.equal(JSON.parse(textOf(await call)).result.content.name, 'Ada');
  const asked = call.trip.messages.find((m) => m.method === 'elicitation/create');
  assert.deepEqual(asked.params, params);
  assert.equal(bystander.requests.length, 0);
  assert.equal(server.ran('k'), 1);
  await gateway.finish();
});

test('what_a_client_cannot_do_is_refused_on_its_behalf', async (t) => {
  const { gateway, client } = await behind(t);
  const call = client.call('ask', { key: 'k', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
  assert.ok(JSON.parse(textOf(await call)).error.code < 0);
  assert.equal(client.requests.length, 0);
  await gateway.finish();
});

// ---- the standalone stream, and the end of a session ----

// @field Z9: a change that a remote server announces while nobody calls is heard and passed on
test('a_change_announced_by_an_idle_remote_server_reaches_the_listening_client_once', async (t) => {
  const { server, gateway, client } = await behind(t, { server: { hasGet: true } });
  await until(() => server.count('GET') >= 1, 'holdfast to listen');
  const stream = await client.listen();
  assert.equal(stream.status, 200);
  server.tools = [...server.tools, { name: 'newcomer', inputSchema: { type: 'object' } }];
  server.announce('notifications/tools/list_changed');
  await client.waitFor('notifications/tools/list_changed');
  assert.ok((await client.toolNames()).includes('newcomer'));
  server.announce('notifications/tools/list_changed'); // nothing changed this time
  const listed = server.count('tools/list');
  await until(() => server.count('tools/list') > listed, 'holdfast to look');
  textOf(await client.call('pay', { key: 'k' }));
  assert.equal(client.count('notifications/tools/list_changed'), 1);
  await gateway.finish();
});

test('what_was_announced_while_the_listening_stream_was_down_is_replayed_after_its_last_event', async (t) => {
  const { server, gateway, client } = await behind(t, { server: { hasGet: true } });
  await until(() => server.count('GET') >= 1, 'holdfast to listen');
  const stream = await client.listen();
  const tell = async (name) => {
    server.tools = [...server.tools, { name, inputSchema: { type: 'object' } }];
    const listed = server.count('tools/list');
    server.announce('notifications/tools/list_changed');
    await until(() => server.count('tools/list') > listed, 'holdfast to look');
  };
  await tell('one');
  const { id } = await stream.event((e) => /list_changed/.test(e.data), 'the first announcement');
  assert.ok(id, 'events of the standalone stream carry ids');
  stream.abort();
  await stream.ended;
  await tell('two');
  await until(async () => (await client.toolNames()).includes('two'), 'the second tool');
  const again = await client.listen(id);
  await again.event((e) => /list_changed/.test(e.data), 'the missed announcement');
  assert.equal(client.count('notifications/tools/list_changed'), 2);
  await gateway.finish();
});

// @field B20: the end of a session is told to the server once, and a second end changes nothing
test('a_deleted_session_is_over_for_its_client_and_the_server_keeps_its_own', async (t) => {
  const { server, gateway, client } = await behind(t);
  const gone = client.trip('DELETE');
  await gone.ended;
  assert.ok([200, 204].includes(gone.status), String(gone.status));
  for (const verb of ['DELETE', 'GET']) {
    const refused = client.trip(verb);
    await refused.ended;
    assert.equal(refused.status, 404, verb);
  }
  const refused = client.call('pay', { key: 'no' });
  await assert.rejects(refused);
  assert.equal(refused.trip.status, 404);
  assert.equal(server.count('DELETE'), 0, 'the way to the server is shared');
  const next = await gateway.join('/mcp/http');
  textOf(await next.call('pay', { key: 'yes' }));
  assert.deepEqual(server.effects, ['yes']);
  await gateway.finish();
  await until(() => server.count('DELETE') === 1, 'the DELETE of the shared session');
});

test('a_listening_stream_ends_with_its_session', async (t) => {
  const { gateway, client } = await behind(t);
  const stream = await client.listen();
  await client.trip('DELETE').ended;
  await stream.ended;
  await gateway.finish();
});

test('sessions_have_unguessable_ids_and_a_limit', async (t) => {
  const { gateway, client } = await behind(t, { holdfast: { maxSessions: 3 } });
  const others = [await gateway.join('/mcp/http'), await gateway.join('/mcp/http')];
  const ids = [client, ...others].map((c) => c.session);
  for (const id of ids) assert.match(id, /^[\x21-\x7e]{22,}$/, 'at least 128 bits of visible ASCII');
  assert.equal(new Set(ids).size, 3);
  const fourth = gateway.client('/mcp/http');
  const over = fourth.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } });
  assert.equal((await over).error.code, -31005);
  assert.equal(over.trip.status, 503);
  await others[0].trip('DELETE').ended;
  await fourth.initialize();
  for (const kept of [client, others[1], fourth]) textOf(await kept.call('pay', { key: 'kept' }));
  await gateway.finish();
});

test('a_session_that_nobody_uses_ends_after_its_time_and_one_that_is_used_does_not', async (t) => {
  const { gateway, client } = await behind(t, { holdfast: { sessionTtlMs: 400 } });
  const idle = await gateway.join('/mcp/http');
  const listening = await gateway.join('/mcp/http');
  await listening.listen();
  for (let i = 0; i < 10; i++) {
    await elapse(80);
    textOf(await client.call('pay', { key: `k${i}` }));
  }
  const refused = idle.call('pay', { key: 'late' });
  await assert.rejects(refused);
  assert.equal(refused.trip.status, 404);
  textOf(await listening.call('pay', { key: 'a stream is a use' }));
  await gateway.finish();
});

// ---- rules of the versions ----

test('batches_are_taken_from_2025_03_26_clients_and_refused_from_others', async (t) => {
  const { server, gateway, client } = await behind(t, { client: { version: '2025-03-26' } });
  const batch = [
    { jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name: 'pay', arguments: { key: 'a' } } },
    { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
    { jsonrpc: '2.0', id: 'b', method: 'tools/call', params: { name: 'pay', arguments: { key: 'b' } } },
    { jsonrpc: '2.0', id: 'c', method: 'no/such/method' },
  ];
  const trip = client.post(batch);
  assert.equal(textOf(await trip.answer('a')), 'paid a');
  assert.equal(textOf(await trip.answer('b')), 'paid b');
  assert.equal((await trip.answer('c')).error.code, -32601);
  await trip.ended;
  assert.equal(trip.messages.length, 3);
  const quiet = client.post([{ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }]);
  await quiet.ended;
  assert.equal(quiet.status, 202);
  for (const version of ['2025-06-18', '2025-11-25']) {
    const newer = await gateway.join('/mcp/http', { version });
    const refused = newer.post([batch[0]]);
    await refused.ended;
    assert.equal(refused.status, 400, version);
  }
  assert.deepEqual(server.effects, ['a', 'b']);
  await gateway.finish();
});

test('the_version_header_is_checked_and_may_be_missing', async (t) => {
  const { server, gateway, client } = await behind(t);
  const ask = async (headers) => {
    const call = client.call('pay', { key: JSON.stringify(headers) }, { headers });
    await call.trip.ended;
    return call.trip.status;
  };
  assert.equal(await ask({}), 200);
  assert.equal(await ask({ 'mcp-protocol-version': undefined }), 200, 'absent stands for 2025-03-26');
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) assert.equal(await ask({ 'mcp-protocol-version': version }), 200);
  for (const version of ['2023-01-01', 'latest', '']) assert.equal(await ask({ 'mcp-protocol-version': version }), 400, version);
  assert.equal(server.effects.length, 6);
  await gateway.finish();
});

test('each_version_is_agreed_to_and_an_unknown_one_is_answered_with_our_newest', async (t) => {
  const { gateway } = await behind(t);
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    const client = await gateway.join('/mcp/http', { version });
    assert.equal(client.agreed, version);
  }
  const future = await gateway.join('/mcp/http', { version: '2099-01-01' });
  assert.equal(future.agreed, '2025-11-25');
  await gateway.finish();
});

test('requests_that_break_the_transports_rules_are_refused_with_the_right_status', async (t) => {
  const { server, gateway, client } = await behind(t);
  const effect = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'pay', arguments: { key: 'no' } } };
  const status = async (verb, options) => {
    const trip = client.trip(verb, options);
    await trip.ended;
    return trip;
  };
  const refused = [
    ['no session id', 400, 'POST', { body: effect, headers: { 'mcp-session-id': undefined } }],
    ['a session id that nobody gave', 404, 'POST', { body: effect, headers: { 'mcp-session-id': 'f'.repeat(32) } }],
    ['a type that is not JSON', 415, 'POST', { body: effect, headers: { 'content-type': 'text/plain' } }],
    ['no type at all', 415, 'POST', { body: effect, headers: { 'content-type': undefined } }],
    ['an answer that cannot be taken', 406, 'POST', { body: effect, headers: { accept: 'text/html' } }],
    ['a stream that cannot be taken', 406, 'GET', { headers: { accept: 'application/json' } }],
    ['no JSON', 400, 'POST', { body: '{"jsonrpc":"2.0",' }],
    ['not a message', 400, 'POST', { body: '"hello"' }],
    ['a listening stream without a session', 405, 'GET', { headers: { 'mcp-session-id': undefined } }],
    ['an end without a session', 405, 'DELETE', { headers: { 'mcp-session-id': undefined } }],
    ['another verb', 405, 'PUT', { body: effect }],
    ['another verb', 405, 'PATCH', { body: effect }],
    ['another endpoint', 404, 'POST', { body: effect, target: '/mcp/nobody' }],
    ['another place', 404, 'POST', { body: effect, target: '/elsewhere' }],
  ];
  for (const [what, expected, verb, options] of refused) {
    const trip = await status(verb, options);
    assert.equal(trip.status, expected, `${what}: ${trip.status} ${trip.text.slice(0, 200)}`);
    if (expected === 405) assert.match(trip.headers.allow, /POST/);
  }
  assert.deepEqual(server.effects, []);
  textOf(await client.call('pay', { key: 'yes' }));
  await gateway.finish();
});

test('a_session_belongs_to_its_endpoint', async (t) => {
  const { server, gateway, client } = await behind(t);
  const trip = client.trip('POST', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, target: '/mcp' });
  await trip.ended;
  assert.equal(trip.status, 404);
  assert.deepEqual(server.effects, []);
  await gateway.finish();
});

test('the_aggregate_endpoint_gives_server_names_and_the_single_endpoint_the_servers_own', async (t) => {
  const server = await httpServer(t, { name: 'mine' });
  const gateway = await serve(t, { servers: { one: { http: server }, two: { flags: [] } } });
  const all = await gateway.join('/mcp');
  const names = await all.toolNames();
  assert.ok(names.includes('one__pay') && names.includes('two__effect'), names.join(' '));
  assert.equal(textOf(await all.call('one__pay', { key: 'k' })), 'paid k');
  textOf(await all.call('two__effect', { key: 'e' }));
  const single = gateway.client('/mcp/one');
  assert.equal((await single.initialize()).serverInfo.name, 'mine');
  assert.ok((await single.toolNames()).includes('pay'));
  assert.deepEqual(server.effects, ['k']);
  await gateway.finish();
});

test('raw_line_breaks_in_a_body_reach_a_stdio_server_as_one_line', async (t) => {
  const gateway = await serve(t, { servers: { effects: { flags: [] } } });
  const client = await gateway.join('/mcp/effects');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'echo', arguments: { text: 'a\\nb' } } }, null, '\r\n  ');
  const trip = client.post(body);
  assert.equal(textOf(await trip.answer(5)), 'a\\nb');
  await gateway.finish();
});

test('arguments_and_meta_that_are_not_ours_arrive_byte_for_byte', async (t) => {
  const { server, gateway, client } = await behind(t);
  const params = '{"name":"pay","arguments":{"key":"k","n":12345678901234567890.0,"e":1E5,"z":-0,"s":"\\u0041\\ud83d"},'
    + '"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","x/y":{"a":[1, 2]}}}';
  let seen;
  server.front = (x) => { seen ??= x.message.params?.arguments && x.text; return false; };
  const trip = client.post(`{"jsonrpc":"2.0","id":"9007199254740993","method":"tools/call","params":${params}}`);
  assert.equal(textOf(await trip.answer('9007199254740993')), 'paid k');
  assert.ok(seen.includes(params), seen);
  await gateway.finish();
});

test('errors_of_ours_travel_with_status_200', async (t) => {
  const { server, gateway, client } = await behind(t, { keys: { reconnect: { minMs: 20, maxMs: 20, jitter: 0 }, waitMs: 100 } });
  const lost = client.call('close_without_answer', { key: 'k' });
  assertOurError(await lost, -31002);
  assert.equal(lost.trip.status, 200);
  await server.stop();
  const down = client.call('pay', { key: 'down' });
  assertOurError(await down, -31001);
  assert.equal(down.trip.status, 200);
  await gateway.finish();
});

// ---- bridge ----

test('a_bridge_gives_a_stdio_client_one_remote_server_under_its_own_names', async (t) => {
  const server = await httpServer(t, { name: 'remote' });
  const hf = bridge(t, server.url, { options: ['--reconnect-min-ms', '20'] });
  assert.equal((await hf.initialize()).serverInfo.name, 'remote');
  assert.ok((await hf.toolNames()).includes('pay'));
  textOf(await hf.call('pay', { key: 'a' }));
  await server.restart();
  textOf(await hf.call('pay', { key: 'b' }));
  assert.deepEqual(server.effects, ['a', 'b']);
  await hf.finish();
  assert.equal(server.count('DELETE'), 1, 'its session was ended');
});
