// Coming back: attempts, their budget and schedule, who waits for them and who does not.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { EFFECTS, Server, assertOurError, isGone, run, runReady, scratch, textOf, until } from './harness.mjs';

const SOON = ['--reconnect-min-ms', '20', '--reconnect-max-ms', '40', '--reconnect-jitter', '0'];
const MUCH_LATER = ['--reconnect-min-ms', '60000', '--reconnect-max-ms', '60000', '--reconnect-jitter', '0'];
const LIST_CHANGED = 'notifications/tools/list_changed';

// @field B6: five failed attempts end it | DESIGN 5: the number is `attempts`, the first attempt needs no failures before it
// @field B7: the budget really runs to its end, on the manager's own clock, with no caller and no tick
// @field B11: "gave up" is its own error, not a transport error
// @field B12: the last good tools stay until the budget is spent, and only then go
// @field D7: attempts and delays are what the operator set
// @field Y7: each setting of the schedule is obeyed
// @field Y6: a server that was given up comes back by itself
test('five_failed_attempts_unpublish_the_tools_once_and_a_probe_brings_them_back', async (t) => {
  const hf = await runReady(t, { options: [...SOON, '--reconnect-attempts', '5', '--reconnect-probe-ms', '1500'] });
  const names = await hf.toolNames();
  hf.server.failStarts();
  await hf.server.kill();
  await hf.waitFor(LIST_CHANGED);
  assert.equal(hf.server.starts().length, 1 + 5);
  assert.deepEqual(await hf.toolNames(), []);
  const data = assertOurError(await hf.call('effect', { key: 'no' }), -31004, {
    dispatched: false, retry: 'later', state: 'permanently_failed',
  });
  assert.ok(data.retryAfterMs > 0 && data.retryAfterMs <= 1500, JSON.stringify(data));
  assert.equal(hf.server.starts().length, 1 + 5, 'a call starts no probe');
  const told = (await hf.call('effect', { key: 'no' })).error;
  assert.match(JSON.stringify(told), /effects: told to fail/);

  hf.server.failStarts(false);
  await until(() => hf.count(LIST_CHANGED) === 2, 'the probe to publish the tools again');
  assert.deepEqual(await hf.toolNames(), names);
  textOf(await hf.call('effect', { key: 'yes' }));
  assert.deepEqual(hf.server.effects(), ['yes']);
  assert.equal(hf.count(LIST_CHANGED), 2);
  await hf.finish();
});

// @field D13: waiting, calling and sending again are one budget
test('the_call_budget_covers_the_wait_for_a_server_that_is_down', async (t) => {
  const hf = await runReady(t, { options: [...SOON, '--call-timeout-ms', '300', '--wait-ms', '3600000'] });
  hf.server.failStarts();
  await hf.server.kill();
  assertOurError(await hf.call('effect', { key: 'no' }), -31001, { dispatched: false });
  hf.server.failStarts(false);
  textOf(await hf.call('effect', { key: 'yes' }));
  assert.deepEqual(hf.server.effects(), ['yes']);
  await hf.finish();
});

test('a_server_that_never_started_has_its_own_budget', async (t) => {
  const hf = run(t, { failsStarts: true, options: [...SOON, '--reconnect-first-attempts', '3', '--reconnect-probe-ms', '0', '--list-wait-ms', '100'] });
  await hf.initialize();
  // the first start also asked which era it speaks: a server that may not bear the question is not charged for it
  await until(() => hf.server.starts().length === 4, 'a question and three attempts');
  const gaveUp = async () => (await hf.call('effect', { key: 'no' })).error.code === -31004;
  await until(gaveUp, 'it to give up');
  assert.equal(hf.server.starts().length, 4);
  await hf.finish();
});

// @field A9: however many wait, one process at a time is started for them
// @field D3: a call waits for as long as the schedule needs, and succeeds
// @field Z6: the wait follows the schedule that is set, not a constant
// @field D4: a call joins the attempt that runs and never disturbs it
// @field D5: waiting calls are woken by the success they wait for
test('calls_that_come_while_the_server_is_down_wait_for_the_attempt_that_serves_them', async (t) => {
  const hf = await runReady(t, { options: SOON });
  hf.server.failStarts();
  await hf.server.kill();
  const calls = Array.from({ length: 12 }, (_, i) => hf.call('effect', { key: `k${i}` }));
  await until(() => hf.server.starts().length >= 5, 'some attempts to fail');
  hf.server.failStarts(false);
  for (const call of calls) assert.equal(textOf(await call), String(hf.server.pid()));
  assert.equal(new Set(hf.server.effects()).size, 12);
  assert.equal(hf.server.effects().length, 12);
  await hf.finish();
});

/** The server dies, the attempt made at once fails, and the next is a minute away. */
async function failOnce(hf) {
  hf.server.failStarts();
  await hf.server.kill();
  await hf.waitForStderr(/next attempt in 60000 ms/);
  assert.equal(hf.server.starts().length, 2);
}

// @field A11: a call inside the back-off window is answered at once with the time to wait; it starts nothing and moves no schedule | DESIGN 6: the first arrival of a step makes one extra attempt
// @field A13: "unavailable", for machines: a code, whether it was dispatched, when to come again
test('a_call_that_no_scheduled_attempt_can_serve_is_answered_at_once_with_the_time_to_wait', async (t) => {
  const hf = await runReady(t, { options: [...MUCH_LATER, '--wait-ms', '5000'] });
  await failOnce(hf);
  const first = assertOurError(await hf.call('effect', { key: 'a' }), -31001, { dispatched: false, retry: 'later', state: 'reconnecting' });
  assert.ok(first.retryAfterMs > 5000 && first.retryAfterMs <= 60000, JSON.stringify(first));
  assert.equal(hf.server.starts().length, 3, 'the first arrival made one extra attempt');
  assertOurError(await hf.call('effect', { key: 'b' }), -31001);
  assert.equal(hf.server.starts().length, 3, 'the second made none');
  await hf.finish();
});

test('a_call_that_comes_between_two_far_attempts_is_served_by_the_extra_one_it_causes', async (t) => {
  const hf = await runReady(t, { options: MUCH_LATER });
  await failOnce(hf);
  hf.server.failStarts(false);
  textOf(await hf.call('effect', { key: 'served' }));
  assert.equal(hf.server.starts().length, 3);
  await hf.finish();
});

test('a_waiting_caller_with_a_progress_token_is_told_which_attempt_runs', async (t) => {
  const hf = await runReady(t, { options: ['--reconnect-min-ms', '100', '--reconnect-max-ms', '100', '--reconnect-jitter', '0'] });
  hf.server.failStarts();
  await hf.server.kill();
  const call = hf.call('progress', { n: 3 }, { meta: { progressToken: 'mine' } });
  const told = await hf.waitFor('notifications/progress', (p) => /reconnecting to effects, attempt [2-9]/.test(p.message));
  assert.equal(told.params.progressToken, 'mine');
  assert.ok(told.params.progress > 0 && told.params.progress < 1);
  hf.server.failStarts(false);
  textOf(await call);
  const values = hf.messages.filter((m) => m.method === 'notifications/progress').map((m) => m.params.progress);
  assert.deepEqual(values.slice(-3), [1, 2, 3]);
  for (let i = 1; i < values.length; i++) assert.ok(values[i] > values[i - 1], `progress only grows: ${values}`);
  await hf.finish();
});

// @field A12: a cancel while waiting ends that call and nothing else
// @field D5: a caller's cancel ends its wait at once
// @field A10: one caller who goes away does not spoil the reconnect for the others
// @field Y3: no caller owns the reconnect
test('a_cancelled_waiting_call_is_never_sent_and_the_others_are_served', async (t) => {
  const hf = await runReady(t, { options: SOON });
  hf.server.failStarts();
  await hf.server.kill();
  hf.send({ jsonrpc: '2.0', id: 'away', method: 'tools/call', params: { name: 'effect', arguments: { key: 'away' } } });
  const stays = hf.call('effect', { key: 'stays' });
  hf.notify('notifications/cancelled', { requestId: 'away' });
  await hf.settle();
  hf.server.failStarts(false);
  textOf(await stays);
  assert.deepEqual(hf.server.effects(), ['stays']);
  await hf.finish();
});

test('the_wait_before_dispatch_is_bounded', async (t) => {
  const hf = run(t, { options: ['--wait-ms', '300', '--list-wait-ms', '100', '--start-timeout-ms', '60000'], flags: ['--hang-start'] });
  await hf.initialize();
  const data = assertOurError(await hf.call('effect', { key: 'no' }), -31001, { dispatched: false, state: 'connecting' });
  assert.equal(data.retry, 'later');
  assert.deepEqual(hf.server.effects(), []);
  await hf.finish();
});

// @field D13: the start has a bound of its own, after which the half-started process is removed
// @field A10: the handshake runs on its own clock
// @field B19: a half-initialized process does not outlive its attempt
test('a_server_that_hangs_in_its_start_is_killed_and_the_next_attempt_follows', async (t) => {
  const hf = run(t, { options: [...SOON, '--start-timeout-ms', '200', '--list-wait-ms', '100'], flags: ['--hang-start'] });
  await hf.initialize();
  await until(() => hf.server.starts().length >= 3, 'three attempts');
  await until(() => isGone(hf.server.starts()[0].pid), 'the first to be gone');
  await hf.finish();
});

// @field B5: a runtime counts only when its tools are listed; a list that fails is a failed attempt
test('a_server_that_hangs_in_its_list_is_killed_and_the_next_attempt_follows', async (t) => {
  const hf = run(t, { options: [...SOON, '--start-timeout-ms', '200', '--list-wait-ms', '100'], flags: ['--hang-list'] });
  await hf.initialize();
  await until(() => hf.server.starts().length >= 3, 'three attempts');
  await until(() => isGone(hf.server.starts()[0].pid), 'the first to be gone');
  await hf.finish();
});

// @field X8: a handshake that succeeds does not reset the back-off
// @field Z5: connect-then-die does not loop at full speed
// @field A11: the delays double up to their maximum
test('a_server_that_dies_after_every_handshake_is_started_with_growing_pauses', async (t) => {
  const hf = run(t, { options: ['--reconnect-min-ms', '60', '--reconnect-max-ms', '240', '--reconnect-jitter', '0'], flags: ['--exit-after-list'] });
  await hf.initialize();
  const starts = await until(() => hf.server.starts().length >= 6 && hf.server.starts(), 'six starts');
  const pauses = starts.slice(1).map((start, i) => start.ms - starts[i].ms);
  for (const [i, least] of [0, 60, 120, 240, 240].entries()) {
    assert.ok(pauses[i] >= least, `pause ${i} was ${pauses[i]} of at least ${least}: ${pauses}`);
  }
  await hf.finish();
});

// @field D11: a clean exit of an idle server is no failure: it rests until somebody needs it
test('a_server_that_leaves_in_peace_is_started_again_only_when_it_is_needed', async (t) => {
  const hf = await runReady(t);
  const names = await hf.toolNames();
  for (let starts = 1; starts <= 10; starts++) {
    const old = Number(textOf(await hf.call('answer_then_exit', { key: 'bye', status: 0 })));
    await until(() => isGone(old), 'it to leave');
    await hf.settle();
    assert.equal(hf.server.starts().length, starts);
    assert.deepEqual(await hf.toolNames(), names);
    await hf.settle();
    assert.equal(hf.server.starts().length, starts, 'a list wakes nobody');
    textOf(await hf.call('effect', { key: 'back' }));
    assert.equal(hf.server.starts().length, starts + 1);
  }
  assert.equal(hf.count(LIST_CHANGED), 0);
  await hf.finish();
});

test('an_idle_server_is_stopped_after_its_time_and_the_next_call_starts_it', async (t) => {
  const hf = await runReady(t, { options: ['--idle-ms', '100'] });
  const old = hf.server.pid();
  await until(() => isGone(old), 'the idle server to be stopped');
  assert.equal(hf.server.count('eof', old), 1, 'it was asked by closing its stdin');
  assert.ok((await hf.toolNames()).includes('effect'));
  assert.notEqual(Number(textOf(await hf.call('effect', { key: 'back' }))), old);
  assert.equal(hf.count(LIST_CHANGED), 0);
  await hf.finish();
});

// @field D10: a command that is missing at a restart is no end: it is tried again, and works when it is back
test('a_command_that_has_vanished_is_named_in_the_error_and_works_once_it_is_back', async (t) => {
  const dir = scratch();
  const missing = path.join(dir, 'not-here-now');
  const server = new Server(dir);
  fs.symlinkSync(EFFECTS, missing);
  const hf = run(t, {
    options: [...SOON, '--wait-ms', '2000', '--reconnect-first-attempts', '-1'],
    command: [missing, ...server.args],
  });
  hf.servers = { effects: server };
  await hf.initialize();
  assert.ok((await hf.toolNames()).includes('effect'));
  fs.rmSync(missing);
  await server.kill();
  const answer = await hf.call('effect', { key: 'no' });
  assertOurError(answer, -31001, { dispatched: false });
  assert.match(answer.error.message, /could not start: there is no file '.*not-here-now'/);
  fs.symlinkSync(EFFECTS, missing);
  textOf(await hf.call('effect', { key: 'yes' }));
  assert.deepEqual(server.effects(), ['yes']);
  assert.equal(hf.count(LIST_CHANGED), 0);
  await hf.finish();
});

test('the_last_words_on_stderr_are_part_of_the_error', async (t) => {
  const hf = run(t, { failsStarts: true, options: [...SOON, '--reconnect-first-attempts', '2', '--reconnect-probe-ms', '0', '--list-wait-ms', '100'] });
  await hf.initialize();
  const told = await until(async () => {
    const answer = await hf.call('effect', { key: 'no' });
    return answer.error.code === -31004 && answer.error;
  }, 'it to give up');
  assert.match(JSON.stringify(told), /effects: told to fail/);
  await hf.finish();
});

// @field D16: a streak of failures is one warning, not one per attempt
test('a_streak_of_failures_warns_once', async (t) => {
  const hf = await runReady(t, { options: [...SOON, '--reconnect-attempts', '6', '--reconnect-probe-ms', '0'] });
  hf.server.failStarts();
  await hf.server.kill();
  await hf.waitFor(LIST_CHANGED);
  const warnings = hf.stderr.split('\n').filter((line) => /\bwarn/i.test(line) && /attempt|start|fail/i.test(line));
  assert.ok(warnings.length <= 3, `one warning for the streak, one for giving up:\n${warnings.join('\n')}`);
  await hf.finish();
});
