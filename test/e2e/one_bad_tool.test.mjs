// One tool of a remote server that always fails costs nobody else anything; and calls that wait for a server that refuses
// connections are served soon after it is back.
import test from 'node:test';
import assert from 'node:assert/strict';
import { textOf, until } from './harness.mjs';
import { connectedTo, httpServer } from './http_harness.mjs';

/** One of ours, in either form: as an error, or as a result that says what became of the call. */
function outcomeOf(answer) {
  const outcome = answer.result?._meta?.['dev.holdfast/outcome'];
  return outcome ?? (answer.error && { code: answer.error.code, ...answer.error.data });
}

const BAD = {
  gets_504: ['status', { status: 504, body: 'too slow' }],
  gets_503_with_retry_after: ['status', { status: 503, headers: { 'retry-after': '3600' }, body: 'not now' }],
  gets_a_reset: ['reset_without_answer', {}],
  gets_its_answer_cut: ['cut_answer', { bytes: 130 }],
};

for (const [name, [tool, args]] of Object.entries(BAD)) {
  test(`a_tool_that_always_${name}_does_not_put_its_server_into_back_off_for_all`, async (t) => {
    const server = await httpServer(t);
    const hf = await connectedTo(t, server);
    const held = hf.call('hold', { key: 'held' });
    await until(() => server.ran('held') === 1, 'the long call to run');
    for (let i = 0; i < 8; i++) {
      assert.equal(outcomeOf(await hf.call(tool, { key: `bad${i}`, ...args }))?.code, -31002);
      assert.equal(textOf(await hf.call('pay', { key: `good${i}` })), `paid good${i}`);
      assert.deepEqual([server.ran(`bad${i}`), server.ran(`good${i}`)], [1, 1]);
    }
    server.release('held');
    assert.equal(textOf(await held), 'paid held');
    assert.equal(server.count('initialize'), 1, 'it was never lost');
    assert.ok(server.count('ping') >= 1, 'and somebody looked');
    await hf.finish();
  });
}

test('a_server_whose_balancer_says_502_to_everybody_is_lost_and_found_again', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: { minMs: 20, maxMs: 40, jitter: 0 } });
  server.front = (x) => { x.status(502, { body: 'nobody there' }); return true; };
  assert.equal(outcomeOf(await hf.call('pay', { key: 'lost' }))?.code, -31002);
  await hf.waitForStderr(/reconnecting/);
  const waiting = hf.call('pay', { key: 'k' });
  await until(() => server.count('initialize') >= 2, 'an attempt to reach it');
  server.front = undefined;
  assert.equal(textOf(await waiting), 'paid k');
  assert.deepEqual([server.ran('lost'), server.ran('k')], [0, 1]);
  await hf.finish();
});

test('calls_that_wait_for_a_server_that_refuses_connections_do_not_wait_for_its_schedule', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: { minMs: 600000, maxMs: 600000, jitter: 0 } });
  await server.stop();
  const calls = [1, 2, 3].map((i) => hf.call('pay', { key: `k${i}` }));
  await hf.waitForStderr(/next attempt in 600000 ms/); // ten minutes, if it were for the schedule
  await server.start();
  for (const [i, call] of calls.entries()) assert.equal(textOf(await call), `paid k${i + 1}`);
  for (const i of [1, 2, 3]) assert.equal(server.ran(`k${i}`), 1);
  await hf.finish();
});
