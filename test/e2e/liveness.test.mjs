// A server that stops answering is found out; one that is merely busy is left alone.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, elapse, isGone, killNow, runReady, stop, textOf, until } from './harness.mjs';

const QUICK_CHECKS = ['--liveness-timeout-ms', '150', '--liveness-gap-ms', '100', '--liveness-failures', '3'];
// DESIGN 5: only a cancel more than 10 s after dispatch says something about the server
const SUSPICIOUS_MS = 10200;

// @field B6: three failures in a row recycle | DESIGN 5: three failed liveness checks, not three failed calls
test('a_server_that_stops_answering_for_good_is_replaced_after_three_failed_checks', async (t) => {
  const hf = await runReady(t, { options: [...QUICK_CHECKS, '--call-timeout-ms', '300', '--close-ms', '50', '--term-ms', '50'] });
  const old = hf.server.pid();
  await stop(old);
  // it took nothing, so its bytes can be proven unread; the call still ends by its own budget
  const answer = await hf.call('effect', { key: 'hung' });
  assert.ok(answer.error, JSON.stringify(answer));
  assert.ok([-31001, -31002].includes(answer.error.code), JSON.stringify(answer));
  await until(() => isGone(old), 'the hung server to be killed');
  assert.notEqual(Number(textOf(await hf.call('effect', { key: 'next' }))), old);
  assert.ok(hf.server.effects('hung') <= 1);
  await hf.finish();
});

test('callers_who_give_up_on_a_stopped_server_get_the_next_generation', async (t) => {
  const hf = await runReady(t, { options: [...QUICK_CHECKS, '--close-ms', '50', '--term-ms', '50'] });
  const old = hf.server.pid();
  await stop(old);
  for (const id of ['a', 'b']) {
    hf.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'effect', arguments: { key: id } } });
  }
  await hf.settle();
  await elapse(SUSPICIOUS_MS);
  assert.ok(!isGone(old), 'nobody gave up yet');
  for (const id of ['a', 'b']) hf.notify('notifications/cancelled', { requestId: id });
  await until(() => isGone(old), 'the hung server to be killed');
  textOf(await hf.call('effect', { key: 'next' }));
  assert.deepEqual(hf.server.effects(), ['next'], 'a cancelled call is not sent again');
  await hf.finish();
});

// @field Y5: slow tools never recycle a healthy server
test('a_server_busy_in_one_long_tool_is_not_touched', async (t) => {
  const hf = await runReady(t, { options: QUICK_CHECKS });
  const busy = hf.call('busy', { ms: SUSPICIOUS_MS + 1500, key: 'long' }, { ms: 60000 });
  hf.send({ jsonrpc: '2.0', id: 'b', method: 'tools/call', params: { name: 'effect', arguments: { key: 'b' } } });
  await hf.settle();
  await elapse(SUSPICIOUS_MS);
  hf.notify('notifications/cancelled', { requestId: 'b' });
  textOf(await busy);
  assert.equal(hf.server.starts().length, 1);
  assert.equal(hf.server.count('ping'), 0, 'nobody asked whether it lives: a call within its time is running');
  await hf.finish();
});

// @field A12: a caller's timeout is no death of the server: no reconnect
// @field D13: one budget for the whole call, with an error of its own and a cancel to the server
test('a_call_over_its_budget_is_cancelled_at_the_server_which_passes_its_check_and_stays', async (t) => {
  const hf = await runReady(t, { options: [...QUICK_CHECKS, '--call-timeout-ms', '250'] });
  assertOurError(await hf.call('slow', { ms: 60000, key: 'late' }), -31002, { dispatched: true, evidence: 'dispatched' });
  await until(() => hf.server.count('cancelled late') === 1, 'the cancel to reach the server');
  await until(() => hf.server.count('ping') === 1, 'the one check');
  textOf(await hf.call('effect', { key: 'next' }));
  assert.equal(hf.server.starts().length, 1);
  assert.deepEqual(hf.server.effects(), ['next']);
  await hf.finish();
});

test('a_server_that_takes_no_byte_for_the_stall_time_is_replaced_and_the_half_written_call_runs_once', async (t) => {
  const hf = await runReady(t, { options: [...QUICK_CHECKS, '--stall-ms', '150', '--close-ms', '50', '--term-ms', '50'] });
  const old = hf.server.pid();
  await stop(old);
  const call = hf.call('effect', { key: 'large', pad: 'x'.repeat(1 << 20) });
  assert.notEqual(Number(textOf(await call)), old);
  await until(() => isGone(old), 'the stalled server to be killed');
  assert.deepEqual(hf.server.effects(), ['large']);
  await hf.finish();
});

test('a_stopped_server_that_goes_on_in_time_answers_its_call', async (t) => {
  const hf = await runReady(t, { options: QUICK_CHECKS });
  const pid = hf.server.pid();
  await stop(pid);
  const call = hf.call('effect', { key: 'paused' });
  await hf.settle();
  killNow(pid, 'SIGCONT');
  assert.equal(textOf(await call), String(pid));
  assert.deepEqual(hf.server.effects(), ['paused']);
  await hf.finish();
});
