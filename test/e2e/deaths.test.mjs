// A server dies at the worst moment: what ran, how often, and what the client was told.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { assertOurError, isGone, killNow, processState, run, runReady, scratch, stop, textOf, until } from './harness.mjs';

// A first attempt that waited for any timer at all would wait a minute here.
const SLOW_TIMERS = ['--reconnect-min-ms', '60000', '--reconnect-max-ms', '60000', '--reconnect-jitter', '0'];
const NO_DELAY = ['--reconnect-min-ms', '0'];

// @field A7: a restart between two calls is invisible: the next call finds a new process, initialized and listed
// @field Y1: a death is noticed by itself, not by calls that fail first
// @field Y2: a dead server comes back without anybody asking for it
// @field Z7: the first attempt is made at once, without a timer
test('a_server_killed_while_idle_is_back_for_the_next_call_and_no_timer_ran_before_the_first_attempt', async (t) => {
  const hf = await runReady(t, { options: SLOW_TIMERS });
  const old = await hf.server.kill();
  const pid = Number(textOf(await hf.call('effect', { key: 'after' })));
  assert.notEqual(pid, old);
  assert.equal(hf.server.effects('after'), 1);
  assert.equal(hf.server.starts().length, 2);
  assert.equal(hf.server.count('got notifications/initialized', pid), 1);
  await hf.finish();
});

// @field Y1: nobody calls, and the next generation is there all the same
test('a_server_killed_while_idle_is_replaced_although_nobody_calls', async (t) => {
  const hf = await runReady(t, { options: SLOW_TIMERS });
  await hf.server.kill();
  await until(() => hf.server.starts().length === 2 && hf.server.count('got tools/list', hf.server.pid()), 'the next generation');
  await hf.finish();
});

// @field A1: a call is known to be dispatched or not, and only the latter is ever sent again
// @field A2: dispatched and then lost: an error at once, no second sending | DESIGN 7: -31002 outcome_unknown, `retrySafe: false`: the caller checks first
// @field A4: the tool wrote its effect and died before it answered: one effect, one error
// @field A17: a death during a call expects the error and a single execution
// @field X1: the call is not sent again after a death in its middle
test('a_tool_that_takes_effect_and_dies_before_answering_ran_once_and_its_caller_is_told_at_once', async (t) => {
  const hf = await runReady(t, { options: SLOW_TIMERS });
  const answer = await hf.call('effect_then_die', { key: 'pay' });
  assertOurError(answer, -31002, {
    dispatched: true, retrySafe: false, retry: 'check_first', evidence: 'dispatched', server: 'effects', generation: 1,
  });
  assert.equal(textOf(await hf.call('effect', { key: 'next' })), String(hf.server.pid()));
  assert.deepEqual(hf.server.effects(), ['pay', 'next']);
  await hf.finish();
});

// @field A3: "closed while waiting for the answer" and "never written" are different errors with different data
test('a_tool_that_dies_before_its_effect_is_unknown_too_because_nobody_can_tell', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY });
  assertOurError(await hf.call('die_before_effect'), -31002, { dispatched: true });
  assert.deepEqual(hf.server.effects(), []);
  textOf(await hf.call('echo', { text: 'x' }));
  await hf.finish();
});

// @field X2: an answer that came is never thrown away because the death came with it
// @field A15: each of the dead processes is reaped
test('an_answer_written_right_before_the_death_always_arrives', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY });
  for (let i = 0; i < 40; i++) {
    textOf(await hf.call('answer_then_die', { key: `k${i}` }));
    assert.equal(hf.server.effects(`k${i}`), 1);
  }
  const pids = hf.server.pids().slice(0, 40);
  for (const pid of pids) await until(() => isGone(pid), `process ${pid} to be reaped`);
  await hf.finish();
});

// Greets, lists one tool, and answers its first call without a newline, as its last words.
const HASTY = `
const say = (id, result) => JSON.stringify({ jsonrpc: '2.0', id, result });
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    console.log(say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'hasty', version: '1' } }));
  } else if (method === 'tools/list') {
    console.log(say(id, { tools: [{ name: 'hurry', inputSchema: { type: 'object' } }] }));
  } else if (method === 'tools/call') {
    require('fs').writeSync(1, say(id, { content: [{ type: 'text', text: 'last words' }] }));
    process.exit(1);
  }
});
`;

// P4: everything a server wrote is read before it is called dead
test('an_answer_that_ends_with_the_stream_instead_of_a_newline_still_beats_the_death', async (t) => {
  const script = path.join(scratch(), 'hasty.cjs');
  fs.writeFileSync(script, HASTY);
  const hf = run(t, { command: [process.execPath, script] });
  await hf.initialize();
  assert.equal(textOf(await hf.call('hurry')), 'last words');
  await hf.finish();
});

// @field Y4: what is provably unread is sent again instead of failing for nothing
// @field A9: one new process for a whole burst of callers
test('calls_that_a_stopped_and_killed_server_never_read_run_exactly_once_on_the_next_generation', async (t) => {
  const hf = await runReady(t, { options: SLOW_TIMERS });
  const pid = hf.server.pid();
  await stop(pid);
  const calls = Array.from({ length: 8 }, (_, i) => hf.call('effect', { key: `k${i}` }));
  await hf.settle();
  killNow(pid);
  for (const call of calls) assert.equal(textOf(await call), String(hf.server.pid()));
  assert.deepEqual(hf.server.effects().sort(), calls.map((_, i) => `k${i}`));
  assert.equal(hf.countStderr('is sent again \\(evidence: unread;'), 8, hf.stderr);
  assert.equal(hf.server.starts().length, 2);
  await hf.finish();
});

test('a_call_that_was_read_is_unknown_and_its_unread_neighbours_run_once', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY, flags: ['--read', 'one-line'] });
  const busy = hf.call('busy', { key: 'read', ms: 60000 });
  await until(() => hf.server.count('got tools/call') === 2, 'the busy call to be read');
  const behind = Array.from({ length: 5 }, (_, i) => hf.call('effect', { key: `k${i}` }));
  await hf.settle();
  await hf.server.kill();
  assertOurError(await busy, -31002);
  for (const call of behind) textOf(await call);
  assert.deepEqual(hf.server.effects().sort(), ['k0', 'k1', 'k2', 'k3', 'k4']);
  assert.equal(hf.countStderr('is sent again \\(evidence: unread;'), 5, hf.stderr);
  await hf.finish();
});

/** Kills the server after each number of bytes of one call, until a number that it outlives. */
async function killAfterEveryByte(t, readMode) {
  const hf = await runReady(t, { options: NO_DELAY, flags: ['--read', readMode, '--bare'] });
  const outcomes = [];
  for (let bytes = 0; ; bytes++) {
    textOf(await hf.call('echo', { text: 'rested' }));
    const pid = hf.server.pid();
    hf.server.arm(bytes);
    const key = `byte-${String(bytes).padStart(4, '0')}`;
    const answer = await hf.call('effect', { key });
    const effects = hf.server.effects(key);
    assert.ok(effects <= 1, `${effects} effects of a call killed after ${bytes} bytes`);
    if (answer.error) assertOurError(answer, -31002, { dispatched: true });
    else assert.equal(effects, 1, `a success without effect after ${bytes} bytes`);
    outcomes.push(answer.error ? 'unknown' : 'success');
    if (!answer.error && textOf(answer) === String(pid)) break;
    assert.ok(bytes < 1000, 'the call line is not that long');
  }
  await hf.finish();
  return outcomes;
}

test('a_streaming_decoder_killed_after_every_single_byte_of_a_call_never_runs_it_twice', async (t) => {
  const outcomes = await killAfterEveryByte(t, 'stream');
  // before its closing brace every death is proven harmless; brace and newline are the two bytes of doubt
  assert.equal(outcomes.filter((o) => o === 'unknown').length, 2, outcomes.join(' '));
  assert.deepEqual(outcomes.slice(-3), ['unknown', 'unknown', 'success']);
});

const MEGABYTE = 'x'.repeat(1 << 20);

test('a_large_call_that_kills_its_reader_is_sent_exactly_twice_and_its_neighbours_succeed', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY, flags: ['--read', 'chunk', '--poison', 'POISON', '--poison-bytes', '65536'] });
  const before = hf.call('effect', { key: 'before' });
  textOf(await before);
  const deadly = hf.call('effect', { key: 'deadly', mark: 'POISON', pad: MEGABYTE });
  const behind = Array.from({ length: 3 }, (_, i) => hf.call('effect', { key: `behind${i}` }));
  assertOurError(await deadly, -31001, { dispatched: false, retrySafe: true, retry: 'no', reason: 'server_dies_on_it' });
  for (const call of behind) textOf(await call);
  assert.equal(hf.server.poisoned(), 2);
  assert.deepEqual(hf.server.effects().sort(), ['before', 'behind0', 'behind1', 'behind2']);
  await hf.finish();
});

test('a_large_call_that_was_read_whole_before_the_death_is_sent_once_and_unknown', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY, flags: ['--read', 'chunk'] });
  const deadly = hf.call('effect_then_die', { key: 'deadly', pad: MEGABYTE });
  const behind = Array.from({ length: 3 }, (_, i) => hf.call('effect', { key: `behind${i}` }));
  assertOurError(await deadly, -31002, { dispatched: true });
  // those behind it may have been read with its last chunk: unknown is honest, twice would not be
  for (const [i, call] of behind.entries()) {
    const answer = await call;
    if (answer.error) assertOurError(answer, -31002);
    else assert.equal(hf.server.effects(`behind${i}`), 1);
  }
  textOf(await hf.call('effect', { key: 'after' }));
  assert.equal(hf.server.effects('deadly'), 1);
  for (const key of ['behind0', 'behind1', 'behind2']) assert.ok(hf.server.effects(key) <= 1);
  assert.equal(hf.server.starts().length, 2);
  await hf.finish();
});

// @field Y4: a call of which only a part was written is sent again, because no decoder can have seen its end
test('a_large_call_that_was_only_partly_written_runs_once_on_the_next_generation', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY });
  const pid = hf.server.pid();
  await stop(pid);
  const call = hf.call('effect', { key: 'large', pad: MEGABYTE });
  const queued = hf.call('effect', { key: 'queued' });
  await hf.settle();
  killNow(pid);
  textOf(await call);
  textOf(await queued);
  assert.deepEqual(hf.server.effects().sort(), ['large', 'queued']);
  assert.equal(hf.countStderr('is sent again \\(evidence: partial;'), 1, hf.stderr);
  assert.equal(hf.countStderr('is sent again \\(evidence: unsent;'), 1, hf.stderr);
  await hf.finish();
});

test('a_server_that_closes_its_stdout_but_lives_on_is_replaced_and_killed', async (t) => {
  const hf = await runReady(t, { options: [...NO_DELAY, '--close-ms', '100', '--term-ms', '100'], flags: ['--hang-close'] });
  const old = hf.server.pid();
  assertOurError(await hf.call('close_stdout', { key: 'mute' }), -31002);
  assert.notEqual(Number(textOf(await hf.call('effect', { key: 'next' }))), old);
  await until(() => isGone(old), 'the mute server to be killed');
  assert.deepEqual(hf.server.effects(), ['mute', 'next']);
  await hf.finish();
});

async function asksAgain(t, method, params) {
  const hf = await runReady(t, { options: NO_DELAY });
  hf.server.dieOnceAt(method);
  const answer = await hf.request(method, params);
  assert.ok(answer.result, JSON.stringify(answer));
  assert.equal(hf.server.count(`got ${method}`), 2);
  assert.equal(hf.server.starts().length, 2);
  await hf.finish();
}

// @field Z8: prompts recover as tools do
test('a_prompt_whose_server_dies_is_asked_for_again_because_it_only_reads', async (t) => {
  await asksAgain(t, 'prompts/get', { name: 'greet', arguments: { who: 'me' } });
});

// @field B15: prompts, resources and completion go the same way as tools
test('a_resource_whose_server_dies_is_read_again_because_it_only_reads', async (t) => {
  await asksAgain(t, 'resources/read', { uri: 'effects://one' });
});

// @field B15: prompts, resources and completion go the same way as tools
test('a_completion_whose_server_dies_is_asked_for_again_because_it_only_reads', async (t) => {
  await asksAgain(t, 'completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'a' } });
});

// @field A6: nothing is taken for idempotent unless the operator says so
test('an_annotated_tool_is_repeated_only_where_the_operator_trusts_the_annotation', async (t) => {
  const wary = await runReady(t, { options: NO_DELAY });
  wary.server.dieOnceAt('idempotent');
  assertOurError(await wary.call('idempotent', { key: 'once' }), -31002);
  assert.equal(wary.server.effects('once'), 1);
  await wary.finish();

  const trusting = await runReady(t, { options: [...NO_DELAY, '--retry', 'idempotent'] });
  trusting.server.dieOnceAt('idempotent');
  textOf(await trusting.call('idempotent', { key: 'twice' }));
  assert.equal(trusting.server.effects('twice'), 2);
  trusting.server.dieOnceAt('effect');
  assertOurError(await trusting.call('effect', { key: 'plain' }), -31002);
  assert.equal(trusting.server.effects('plain'), 1);
  await trusting.finish();
});

// @field A13: a server's own error passes with code, message and data unchanged
// @field B14: a JSON-RPC error or a tool error is no failure of the connection
// @field Z2: words like "connection closed: EOF" in a server's answer mean nothing to us
// @field Z3: one caller's error touches no other call in flight
test('an_error_that_talks_of_lost_connections_is_an_answer_and_harms_nobody', async (t) => {
  const hf = await runReady(t);
  const slow = hf.call('slow', { ms: 300, key: 'slow' });
  const failing = hf.call('rpc_error');
  const answer = await failing;
  assert.deepEqual(answer.error, { code: -32050, message: 'connection closed: EOF', data: { n: 1.5, why: 'session not found' } });
  assert.match(hf.rawAnswers.get(String(failing.id)), /"data":\{"n":1\.50,"why":"session not found"\}/);
  assert.equal((await hf.call('tool_error')).result.isError, true);
  textOf(await slow);
  assert.equal(hf.server.starts().length, 1);
  assert.deepEqual(hf.server.effects(), ['slow']);
  await hf.finish();
});

test('a_death_answers_every_call_in_flight_with_its_own_evidence', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY });
  const slow = Array.from({ length: 4 }, (_, i) => hf.call('slow', { ms: 60000, key: `s${i}` }));
  await until(() => hf.server.count('slow') === 4, 'the slow calls to be read');
  assertOurError(await hf.call('effect_then_die', { key: 'last' }), -31002);
  for (const call of slow) assertOurError(await call, -31002, { dispatched: true, generation: 1 });
  assert.deepEqual(hf.server.effects(), ['last']);
  textOf(await hf.call('effect', { key: 'next' }));
  await hf.finish();
});

// @field Y15: a call that comes at the very moment of a death is answered like any other, not by a time-out
test('calls_sent_at_the_very_moment_of_a_death_are_answered_at_once', async (t) => {
  const hf = await runReady(t, { options: [...NO_DELAY, '--wait-ms', '3600000'] });
  for (let i = 0; i < 30; i++) {
    const pid = hf.server.pid();
    const before = hf.call('effect', { key: `before${i}` });
    killNow(pid);
    const after = hf.call('effect', { key: `after${i}` });
    for (const [key, call] of [[`before${i}`, before], [`after${i}`, after]]) {
      const answer = await call;
      if (answer.error) assertOurError(answer, -31002);
      assert.ok(hf.server.effects(key) === 1 || (answer.error && hf.server.effects(key) === 0), key);
    }
    await until(() => hf.server.pid() !== pid, 'the next process');
  }
  await hf.finish();
});

test('forty_deaths_leave_no_zombie_and_no_descriptor_behind', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY });
  const descriptors = () => fs.readdirSync(`/proc/${hf.pid}/fd`).length;
  await hf.call('effect_then_die', { key: 'warm' });
  textOf(await hf.call('echo', { text: 'x' }));
  await until(() => isGone(hf.server.starts()[0].pid), 'the first to be reaped');
  const before = descriptors();
  for (let i = 0; i < 40; i++) {
    await hf.server.kill();
    textOf(await hf.call('effect', { key: `k${i}` }));
  }
  await until(() => descriptors() <= before, () => `descriptors to fall from ${descriptors()} to ${before}`);
  const children = () => fs.readFileSync(`/proc/${hf.pid}/task/${hf.pid}/children`, 'utf8').split(' ').filter(Boolean);
  await until(() => children().length === 1 && children().every((pid) => processState(pid) !== 'Z'), 'one guard and no zombie');
  await hf.finish();
});
