// The deadline rules of DESIGN 6 on a real clock, scaled down: the schedule is 0, 100, 200, 400, 800 ms … after each failure.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, textOf, until } from './harness.mjs';
import { connectedTo, httpServer } from './http_harness.mjs';

const SCHEDULE = { minMs: 100, maxMs: 30000, jitter: 0 };

/** A call finds out that the server is away; then every attempt fails, until `attempts` of them were seen at its endpoint. */
async function awayFor(hf, server, attempts) {
  const before = server.count('initialize');
  server.front = (x) => !x.status(503);
  assertOurError(await hf.call('pay', { key: 'finds-out' }), -31002);
  await until(() => server.count('initialize') === before + attempts, `${attempts} attempts`);
  await hf.waitForStderr(new RegExp(`next attempt in ${100 << (attempts - 1)} ms `));
}

test('a_call_that_a_scheduled_attempt_can_serve_waits_for_it_and_succeeds', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SCHEDULE, waitMs: 5000 });
  await awayFor(hf, server, 4); // the next one comes 800 ms from here
  const attempts = server.count('initialize');
  server.front = undefined; // it is back, between two attempts
  const asked = performance.now();
  assert.equal(textOf(await hf.call('pay', { key: 'served' })), 'paid served');
  assert.equal(server.count('initialize'), attempts + 1, 'the scheduled attempt served it: nothing was started for it');
  assert.ok(performance.now() - asked < 5000);
  assert.equal(server.ran('served'), 1);
  await hf.finish();
});

test('a_call_that_no_scheduled_attempt_can_serve_in_time_is_answered_at_once', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SCHEDULE, waitMs: 150 });
  await awayFor(hf, server, 4);
  const attempts = server.count('initialize');
  const data = assertOurError(await hf.call('pay', { key: 'in-vain' }), -31001, { dispatched: false, retry: 'later', evidence: 'unsent', state: 'reconnecting' });
  assert.equal(server.count('initialize'), attempts, 'it was answered before the next attempt');
  assert.ok(data.retryAfterMs > 150 && data.retryAfterMs <= 800, JSON.stringify(data));
  server.front = undefined;
  await until(() => server.count('initialize') > attempts, 'the scheduled attempt');
  await until(async () => !(await hf.call('pay', { key: 'later' })).error, 'the server to be back');
  assert.equal(server.delivered('in-vain'), 0);
  await hf.finish();
});
