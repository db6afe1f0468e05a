// How far a request to a remote server provably got: what may have run is told so and never sent again, the rest waits.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, elapse, textOf, until } from './harness.mjs';
import { certificates, connectedTo, httpServer, stdioTo } from './http_harness.mjs';

const SOON = { minMs: 20, maxMs: 40, jitter: 0 };
const plain = {};
const secure = () => ({ tls: certificates().pair });
const trusted = () => ({ ca: certificates().ca });

/** The server reads the whole POST and closes; `isFresh`: on a connection that nothing was sent on before. */
async function readAndClosed(t, options, keys, isFresh, tool) {
  const server = await httpServer(t, { ...options, closesAfter: isFresh });
  const hf = await connectedTo(t, server, { ...keys, reconnect: SOON });
  if (!isFresh) textOf(await hf.call('pay', { key: 'warm' }));
  const used = new Set(server.deliveries.map((d) => d.connection));
  const answer = await hf.call(tool, { key: 'k' });
  assertOurError(answer, -31002, { dispatched: true, retry: 'check_first', evidence: 'dispatched' });
  const sent = server.deliveries.filter((d) => d.key === 'k');
  assert.equal(sent.length, 1, 'delivered once, by its own log');
  assert.equal(used.has(sent[0].connection), !isFresh, 'on the connection that the test is about');
  assert.equal(textOf(await hf.call('pay', { key: 'next' })), 'paid next');
  assert.equal(server.delivered('k'), 1);
  await hf.finish();
}

// @field Z1: a lost connection after sending is never a reason to send again
test('read_and_closed_on_a_fresh_connection_is_unknown_and_delivered_once', (t) => readAndClosed(t, plain, {}, true, 'close_without_answer'));
test('read_and_closed_on_a_reused_connection_is_unknown_and_delivered_once', (t) => readAndClosed(t, plain, {}, false, 'close_without_answer'));
test('read_and_closed_on_a_fresh_tls_connection_is_unknown_and_delivered_once', (t) => readAndClosed(t, secure(), trusted(), true, 'close_without_answer'));
test('read_and_closed_on_a_reused_tls_connection_is_unknown_and_delivered_once', (t) => readAndClosed(t, secure(), trusted(), false, 'close_without_answer'));
test('read_and_reset_on_a_fresh_connection_is_unknown_and_delivered_once', (t) => readAndClosed(t, plain, {}, true, 'reset_without_answer'));
test('read_and_reset_on_a_reused_connection_is_unknown_and_delivered_once', (t) => readAndClosed(t, plain, {}, false, 'reset_without_answer'));
test('read_and_reset_on_a_reused_tls_connection_is_unknown_and_delivered_once', (t) => readAndClosed(t, secure(), trusted(), false, 'reset_without_answer'));

test('a_call_to_a_server_that_refuses_connections_waits_and_goes_out_once_it_is_there', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON });
  await server.stop();
  const calls = Array.from({ length: 10 }, (_, i) => hf.call('pay', { key: `k${i}` }));
  await hf.waitForStderr(/refused/i);
  await server.start();
  for (const [i, call] of calls.entries()) assert.equal(textOf(await call), `paid k${i}`);
  for (let i = 0; i < 10; i++) assert.equal(server.ran(`k${i}`), 1);
  await hf.finish();
});

test('a_server_that_was_never_there_is_waited_for_and_served_when_it_comes', async (t) => {
  const server = await httpServer(t);
  await server.stop();
  const hf = stdioTo(t, server, { reconnect: { ...SOON, firstAttempts: -1 }, listWaitMs: 50 });
  await hf.initialize();
  assert.deepEqual(await hf.toolNames(), []);
  await server.start();
  await hf.waitFor('notifications/tools/list_changed');
  assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
  assert.equal(server.delivered('k'), 1);
  await hf.finish();
});

test('a_refused_connection_is_unavailable_and_unsent_when_the_wait_is_over', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON, waitMs: 200 });
  await server.stop();
  const answer = await hf.call('pay', { key: 'k' });
  const { reason } = assertOurError(answer, -31001, { dispatched: false, retry: 'later', evidence: 'unsent' });
  assert.match(reason, /refused|wait_over|crash_loop/i); // as far as the attempts got in that time
  await server.start();
  await until(async () => !(await hf.call('pay', { key: 'later' })).error, 'the server to be back');
  assert.equal(server.delivered('k'), 0);
  await hf.finish();
});

/** Aliases of a server that was never connected are not listed yet; a call by name still says why. */
async function neverReached(t, keys, words) {
  const server = await httpServer(t);
  const hf = stdioTo(t, server, { ...keys, reconnect: SOON, waitMs: 200, listWaitMs: 50 });
  await hf.initialize();
  const answer = await hf.call('pay', { key: 'k' });
  assertOurError(answer, -31001, { dispatched: false, retry: 'later', evidence: 'unsent' });
  assert.match(JSON.stringify(answer.error), words);
  assert.equal(server.deliveries.length, 0);
  await hf.finish();
}

test('a_name_that_does_not_resolve_is_unavailable_and_unsent', (t) => neverReached(t, { url: 'http://no-such-host.invalid:80/mcp' }, /resolve|host|DNS|name/i));

test('a_certificate_that_is_not_trusted_is_unavailable_and_unsent', async (t) => {
  const server = await httpServer(t, secure());
  const hf = stdioTo(t, server, { ca: certificates().stranger, reconnect: SOON, waitMs: 200, listWaitMs: 50 });
  await hf.initialize();
  const answer = await hf.call('pay', { key: 'k' });
  assertOurError(answer, -31001, { dispatched: false, retry: 'later', evidence: 'unsent' });
  assert.match(JSON.stringify(answer.error), /TLS|certificate/i);
  assert.equal(server.deliveries.length, 0, 'nothing was said to it');
  await hf.finish();
});

test('a_tls_handshake_that_fails_for_a_while_costs_the_waiting_call_nothing_but_time', async (t) => {
  const server = await httpServer(t, secure());
  const hf = await connectedTo(t, server, { ...trusted(), reconnect: SOON });
  await server.stop();
  const { tls } = server;
  server.tls = undefined; // for a while somebody speaks plain HTTP on the port
  await server.start();
  const call = hf.call('pay', { key: 'k' });
  await hf.waitForStderr(/TLS|SSL/i);
  await server.stop();
  server.tls = tls;
  await server.start();
  assert.equal(textOf(await call), 'paid k');
  assert.equal(server.delivered('k'), 1);
  await hf.finish();
});

// @field X2: an answer that arrived together with the end of the connection is delivered
test('an_answer_followed_at_once_by_a_reset_always_arrives', async (t) => {
  for (const [options, keys] of [[plain, {}], [secure(), trusted()]]) {
    const server = await httpServer(t, options);
    const hf = await connectedTo(t, server, { ...keys, reconnect: SOON });
    for (let i = 0; i < 100; i++) {
      const tool = i % 2 ? 'answer_then_reset' : 'answer_then_close';
      assert.equal(textOf(await hf.call(tool, { key: `k${i}` })), `paid k${i}`);
    }
    assert.equal(server.effects.length, 100);
    await hf.finish();
  }
});

test('an_answer_cut_anywhere_is_never_taken_for_a_success', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON });
  const body = { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'paid cut' }] } };
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n'.length;
  const places = [1, 8, 12, 15, 17, 19, 27, 45, head - 4, head - 3, head - 2, head - 1, head, head + 1, head + JSON.stringify(body).length - 5];
  for (const [i, bytes] of places.entries()) {
    const answer = await hf.call('cut_answer', { key: `cut${i}`, bytes });
    assertOurError(answer, -31002, { dispatched: true, evidence: 'dispatched' });
    assert.equal(server.delivered(`cut${i}`), 1, `cut after ${bytes} bytes: delivered once`);
    assert.equal(server.ran(`cut${i}`), 1);
  }
  await hf.finish();
});

test('an_event_stream_cut_before_the_answer_is_resumed_if_it_had_an_event_id', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON });
  assert.equal(textOf(await hf.call('cut_stream', { key: 'k', hasIds: true })), 'paid k');
  assert.equal(server.delivered('k'), 1);
  assert.equal(server.ran('k'), 1);
  const resumed = server.deliveries.filter((d) => d.headers['last-event-id'] !== undefined);
  assert.equal(resumed.length, 1);
  assert.equal(server.count('initialize'), 1);
  await hf.finish();
});

test('an_event_stream_cut_before_the_answer_and_without_an_event_id_is_unknown', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON });
  for (const notice of [false, true]) {
    const key = `k${notice}`;
    assertOurError(await hf.call('cut_stream', { key, hasIds: false, notice }), -31002, { dispatched: true, retry: 'check_first' });
    assert.equal(server.delivered(key), 1);
    assert.equal(server.ran(key), 1);
  }
  assert.ok(server.deliveries.every((d) => d.headers['last-event-id'] === undefined));
  await hf.finish();
});

test('a_stream_that_is_closed_mid_call_with_a_retry_time_is_taken_up_again_after_that_time', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server);
  const call = hf.call('come_back', { key: 'k', retryMs: 300 });
  await until(() => server.ran('k') === 1, 'the call to run');
  const ranAt = server.deliveries.find((d) => d.key === 'k').at;
  const resumed = await until(() => server.deliveries.find((d) => d.headers['last-event-id'] !== undefined), 'the resumption');
  assert.ok(resumed.at - ranAt >= 299, `after ${resumed.at - ranAt} ms`);
  server.release('k');
  assert.equal(textOf(await call), 'paid k');
  assert.equal(server.ran('k'), 1);
  await hf.finish();
});

test('a_503_of_a_balancer_leaves_calls_in_flight_unknown_and_later_calls_wait_and_succeed', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON });
  assertOurError(await hf.call('status', { key: 'in-flight', status: 503, body: 'redeploy' }), -31002, { dispatched: true, retry: 'check_first' });
  assert.equal(server.delivered('in-flight'), 1);
  await until(async () => !(await hf.call('pay', { key: 'between' })).error, 'it to be reconnected');
  const before = server.count('initialize');
  server.front = (x) => !x.status(503, { body: 'redeploy' });
  const inFlight = Array.from({ length: 5 }, (_, i) => hf.call('pay', { key: `in-flight${i}` }));
  for (const call of inFlight) assertOurError(await call, -31002, { dispatched: true });
  await hf.waitForStderr(/reconnecting/); // it was looked at, once a second
  const later = Array.from({ length: 5 }, (_, i) => hf.call('pay', { key: `later${i}` }));
  await until(() => server.count('initialize') > before + 1, 'attempts to reconnect');
  server.front = undefined;
  for (const [i, call] of later.entries()) assert.equal(textOf(await call), `paid later${i}`);
  for (let i = 0; i < 5; i++) assert.equal(server.ran(`later${i}`), 1);
  assert.equal(server.ran('in-flight'), 1);
  await hf.finish();
});

test('a_503_that_the_operator_vouches_for_never_ran_and_the_call_waits_and_succeeds', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON, refusedStatus: [503] });
  server.front = (x) => !x.status(503, { body: 'redeploy' });
  const call = hf.call('pay', { key: 'k' });
  await until(() => server.count('initialize') >= 3, 'attempts to reconnect');
  server.front = undefined;
  assert.equal(textOf(await call), 'paid k');
  assert.equal(server.ran('k'), 1);
  await hf.finish();
});

test('a_server_that_closes_idle_connections_early_is_never_told_twice', async (t) => {
  const server = await httpServer(t, { idleMs: 1 });
  const hf = await connectedTo(t, server, { reconnect: SOON });
  let unknown = 0;
  for (let i = 0; i < 60; i++) {
    const answer = await hf.call('pay', { key: `k${i}` });
    if (answer.error) unknown += assertOurError(answer, -31002) ? 1 : 0;
    assert.ok(server.ran(`k${i}`) <= 1);
    await elapse(i % 4); // around the time after which the server closes
  }
  t.diagnostic(`${unknown} of 60 calls met a connection that was just being closed`);
  await hf.finish();
});

test('reads_are_sent_again_although_their_answer_was_lost', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON });
  let losses = 1;
  server.front = (x) => x.message.method === 'resources/read' && losses-- > 0 && (x.socket.destroy(), true);
  const answer = await hf.request('resources/read', { uri: 'test://watched' });
  assert.equal(answer.result.contents[0].text, 'read');
  assert.equal(server.count('resources/read'), 2);
  await hf.finish();
});

/** What could be read in two ways may be another call's answer behind the next balancer. */
const UNREADABLE = {
  two_lengths: (json) => `Content-Length: ${json.length}\r\nContent-Length: 2\r\n\r\n${json}`,
  a_length_beside_chunks: (json) => `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`,
  bare_line_feeds: (json) => `Content-Length: ${json.length}\n\n${json}`,
};
for (const [name, write] of Object.entries(UNREADABLE)) {
  test(`an_answer_with_${name}_is_no_answer_and_its_call_unknown`, async (t) => {
    const server = await httpServer(t);
    const hf = await connectedTo(t, server, { reconnect: SOON });
    server.front = (x) => {
      if (x.message.method !== 'tools/call' || x.message.params.arguments.key !== 'k') return false;
      const json = JSON.stringify({ jsonrpc: '2.0', id: x.message.id, result: { content: [{ type: 'text', text: 'odd' }] } });
      return x.socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${write(json)}`), true;
    };
    assertOurError(await hf.call('pay', { key: 'k' }), -31002, { dispatched: true, evidence: 'dispatched' });
    assert.equal(server.delivered('k'), 1);
    server.front = undefined;
    assert.equal(textOf(await hf.call('pay', { key: 'next' })), 'paid next');
    await hf.finish();
  });
}
