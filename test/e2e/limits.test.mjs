// Too much, too deep, not JSON at all: one message fails, with one clear error, and all else goes on.
import test from 'node:test';
import assert from 'node:assert/strict';
import { PLAIN_HOLDFAST, assertOurError, isGone, killNow, runReady, stop, textOf, until } from './harness.mjs';

const HUNDRED_MB = 100 << 20;

/** A result over the limit: its own call is told, a neighbour in flight and the next call are served. */
async function tooLarge(t, id) {
  const hf = await runReady(t, { program: PLAIN_HOLDFAST });
  const neighbour = hf.call('slow', { ms: 100, key: 'neighbour' });
  const big = hf.call('big', { bytes: HUNDRED_MB, id, key: 'big' }, { ms: 60000 });
  const data = assertOurError(await big, -31006, { dispatched: true, retry: 'check_first' });
  assert.ok(data.reason.length > 0);
  textOf(await neighbour);
  textOf(await hf.call('effect', { key: 'next' }));
  assert.equal(hf.server.starts().length, 1);
  assert.deepEqual(hf.server.effects().sort(), ['big', 'neighbour', 'next']);
  await hf.finish();
}

// @field X4: a line over the limit fails its own call, never the connection
test('a_result_of_100_mb_with_its_id_first_is_too_large_for_its_own_call_only', async (t) => {
  await tooLarge(t, 'first');
});
test('a_result_of_100_mb_with_its_id_last_is_too_large_for_its_own_call_only', async (t) => {
  await tooLarge(t, 'last');
});
test('a_result_of_100_mb_with_other_ids_inside_is_too_large_for_its_own_call_only', async (t) => {
  await tooLarge(t, 'nested');
});

test('a_result_of_100_mb_passes_whole_where_the_limit_allows_it', async (t) => {
  const hf = await runReady(t, { program: PLAIN_HOLDFAST, options: ['--max-message-bytes', String(HUNDRED_MB + 1000)] });
  const text = textOf(await hf.call('big', { bytes: HUNDRED_MB, id: 'last' }, { ms: 60000 }));
  assert.equal(text.length, HUNDRED_MB);
  textOf(await hf.call('effect', { key: 'next' }));
  await hf.finish();
});

/** Noise on stdout before a good answer. */
async function noise(t, kind, more = {}) {
  const hf = await runReady(t, { options: ['--max-message-bytes', '1000000'] });
  for (let i = 0; i < 3; i++) textOf(await hf.call('garbage', { kind, ...more }));
  textOf(await hf.call('effect', { key: 'next' }));
  assert.equal(hf.server.starts().length, 1);
  assert.deepEqual(hf.server.effects(), ['next']);
  await hf.finish();
}

test('lines_that_are_not_json_are_skipped', async (t) => noise(t, 'text'));
test('lines_of_invalid_utf8_are_skipped', async (t) => noise(t, 'utf8'));
test('json_that_is_no_message_is_skipped', async (t) => noise(t, 'json'));
test('half_a_message_is_skipped', async (t) => noise(t, 'half'));
test('messages_nested_too_deep_are_skipped', async (t) => noise(t, 'deep'));
test('messages_with_duplicate_keys_are_skipped', async (t) => noise(t, 'duplicate'));
test('endless_lines_of_noise_are_skipped', async (t) => noise(t, 'long', { bytes: 3000000 }));
// @field X5: an answer with an id that nobody waits for answers nobody
test('answers_that_nobody_waits_for_are_dropped', async (t) => noise(t, 'unknown_id'));

/** The answer itself is broken: the call gets one error, and was dispatched. */
async function badAnswer(t, kind) {
  const hf = await runReady(t, { options: ['--call-timeout-ms', '1500', '--liveness-failures', '1000'] });
  const answer = await hf.call('bad_answer', { kind, key: 'bad' });
  assert.ok(answer.error, JSON.stringify(answer).slice(0, 300));
  assert.equal(answer.error.data.dispatched, true, JSON.stringify(answer));
  assert.equal(answer.error.data.retry, 'check_first');
  textOf(await hf.call('effect', { key: 'next' }));
  assert.equal(hf.server.starts().length, 1);
  assert.deepEqual(hf.server.effects(), ['bad', 'next']);
  await hf.finish();
}

test('an_answer_that_is_half_json_is_one_error', async (t) => badAnswer(t, 'half'));
test('an_answer_of_invalid_utf8_is_one_error', async (t) => badAnswer(t, 'utf8'));
test('an_answer_nested_too_deep_is_one_error', async (t) => badAnswer(t, 'deep'));
test('an_answer_with_result_and_error_is_one_error', async (t) => badAnswer(t, 'both'));

test('of_two_ids_or_two_results_in_one_answer_the_last_counts', async (t) => {
  const hf = await runReady(t);
  for (const kind of ['duplicate_id', 'duplicate_result']) {
    assert.deepEqual((await hf.call('bad_answer', { kind, key: kind })).result, { content: [] });
  }
  assert.deepEqual(hf.server.effects(), ['duplicate_id', 'duplicate_result']);
  await hf.finish();
});

test('a_call_answered_twice_is_answered_once', async (t) => {
  const hf = await runReady(t);
  assert.ok((await hf.call('bad_answer', { kind: 'twice', key: 'k' })).result);
  textOf(await hf.call('effect', { key: 'next' }));
  await hf.finish();
});

/** What a client sends wrong is one error to it; the next request is fine. */
async function badRequest(t, bytes, id, code) {
  const hf = await runReady(t, { options: ['--max-message-bytes', '1000000'] });
  const answer = hf.answerTo(id);
  hf.send(bytes);
  assert.equal((await answer).error.code, code, JSON.stringify(await answer));
  textOf(await hf.call('effect', { key: 'next' }));
  assert.deepEqual(hf.server.effects(), ['next']);
  await hf.finish();
}

const LONG = 'y'.repeat(2000000);
test('a_clients_line_that_is_not_json_is_a_parse_error', async (t) => badRequest(t, 'hello there\n', null, -32700));
test('a_clients_invalid_utf8_is_a_parse_error', async (t) => {
  await badRequest(t, Buffer.from('{"jsonrpc":"2.0","id":5000,"method":"p\xff\xfe"}\n', 'latin1'), null, -32700);
});
test('a_clients_message_nested_too_deep_is_refused', async (t) => {
  await badRequest(t, `{"jsonrpc":"2.0","id":5000,"method":"tools/call","params":{"name":"effect","arguments":${'['.repeat(5000)}${']'.repeat(5000)}}}\n`, null, -32700);
});
test('a_clients_message_with_duplicate_keys_is_refused', async (t) => {
  await badRequest(t, '{"jsonrpc":"2.0","id":5000,"method":"ping","method":"tools/list"}\n', 5000, -32600);
});
test('json_that_is_no_request_is_an_invalid_request', async (t) => badRequest(t, '{"jsonrpc":"1.0","id":5000,"method":"ping"}\n', 5000, -32600));
test('a_clients_line_over_the_limit_with_its_id_first_is_too_large', async (t) => {
  await badRequest(t, `{"jsonrpc":"2.0","id":5000,"method":"tools/call","params":{"name":"effect","arguments":{"id":1,"key":"${LONG}"}}}\n`, 5000, -31006);
});
test('a_clients_line_over_the_limit_with_its_id_last_is_too_large', async (t) => {
  await badRequest(t, `{"jsonrpc":"2.0","method":"tools/call","params":{"id":1,"name":"effect","arguments":{"key":"${LONG}"}},"id":5000}\n`, 5000, -31006);
});

test('calls_over_max_in_flight_wait_their_turn', async (t) => {
  const hf = await runReady(t, { options: ['--max-in-flight', '1'] });
  const calls = ['a', 'b', 'c'].map((key) => hf.call('slow', { ms: 60, key }));
  for (const call of calls) textOf(await call);
  // each was read only after the one before it had taken effect
  const order = hf.server.events().filter((e) => e.startsWith('slow '));
  assert.deepEqual(order, ['slow a', 'slow b', 'slow c']);
  const times = hf.server.effectTimes();
  assert.ok(times.b - times.a >= 55 && times.c - times.b >= 55, JSON.stringify(times));
  await hf.finish();
});

test('a_full_queue_is_overloaded_and_nothing_was_sent', async (t) => {
  const hf = await runReady(t, { options: ['--max-in-flight', '1', '--max-waiting', '2'] });
  const slow = hf.call('slow', { ms: 400, key: 'slow' });
  const waiting = ['w1', 'w2'].map((key) => hf.call('effect', { key }));
  assertOurError(await hf.call('effect', { key: 'over' }), -31005, { dispatched: false, retry: 'later' });
  textOf(await slow);
  for (const call of waiting) textOf(await call);
  assert.deepEqual(hf.server.effects(), ['slow', 'w1', 'w2']);
  await hf.finish();
});

test('a_server_that_does_not_read_fills_a_bounded_buffer_and_then_calls_are_refused', async (t) => {
  const hf = await runReady(t, { options: ['--max-buffered-bytes', '4000000', '--max-message-bytes', '1000000'] });
  const pid = hf.server.pid();
  await stop(pid);
  const pad = 'p'.repeat(200000);
  const calls = Array.from({ length: 60 }, (_, i) => hf.call('effect', { key: `k${i}`, pad }));
  const refused = [];
  await until(() => {
    refused.splice(0, refused.length, ...calls.filter((c) => hf.rawAnswers.has(String(c.id))));
    return refused.length > 20;
  }, 'calls to be refused');
  killNow(pid, 'SIGCONT');
  let served = 0;
  for (const [i, call] of calls.entries()) {
    const answer = await call;
    if (answer.error) assertOurError(answer, -31005, { dispatched: false, reason: 'max_buffered_bytes' }, { serverless: true });
    else served++;
    assert.equal(hf.server.effects(`k${i}`), answer.error ? 0 : 1);
  }
  assert.ok(served >= 5, `${served} of 60 were served`);
  await hf.finish();
});

// P12: a peer that does not read is cut off at the bound
test('a_client_that_asks_for_more_than_it_reads_is_cut_off_at_max_buffered_bytes', async (t) => {
  const hf = await runReady(t, { options: ['--max-buffered-bytes', '2000000'] });
  hf.child.stdout.pause();
  const calls = Array.from({ length: 30 }, () => hf.call('big', { bytes: 200000 }));
  await until(() => isGone(hf.pid), 'holdfast to give its client up');
  hf.child.stdout.resume();
  await hf.exitWithin();
  const answered = (await Promise.allSettled(calls)).filter((call) => call.status === 'fulfilled').length;
  assert.ok(answered < 15, `${answered} of 30 answers, 6 MB, came although nobody read them`);
  await hf.assertNoOrphans();
});
