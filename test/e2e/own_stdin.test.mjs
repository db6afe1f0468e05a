// Servers that write into their own stdin: what we take back out of the pipe is not what we wrote.
import test from 'node:test';
import assert from 'node:assert/strict';
import { runReady, textOf } from './harness.mjs';

/** What an answer says went wrong, whichever form it has. */
function outcomeOf(answer) {
  if (answer.error) return { code: answer.error.code, ...answer.error.data };
  return answer.result._meta?.['dev.holdfast/outcome'];
}

const OPTIONS = ['--reconnect-min-ms', '0', '--reconnect-max-ms', '0'];

/** Runs once, writes so many bytes into its own stdin and dies. */
async function assertRunsOnce(hf, key, bytes) {
  const outcome = outcomeOf(await hf.call('effect_then_write_stdin', { key, bytes }));
  assert.equal(hf.server.effects(key), 1, `${bytes} bytes of its own: it ran ${hf.server.effects(key)} times`);
  assert.equal(outcome.dispatched, true);
  assert.equal(outcome.retrySafe, false);
  textOf(await hf.call('effect', { key: `after ${key}` }));
  assert.equal(hf.server.count('own_stdin 1'), hf.server.starts().length - 1, 'every death was of that kind');
}

test('a_call_whose_server_ran_it_and_wrote_into_its_own_stdin_runs_once', async (t) => {
  const hf = await runReady(t, { options: OPTIONS });
  for (const bytes of [1, 2, 3, 20, 100, 200, 400]) await assertRunsOnce(hf, `k${bytes}`, bytes);
  assert.match(hf.stderr, /somebody else writes there/);
  await hf.finish();
});

test('a_server_that_writes_more_into_its_own_stdin_than_it_was_ever_sent_ends_nobody_but_itself', async (t) => {
  const hf = await runReady(t, { options: OPTIONS });
  for (const bytes of [10000, 65536]) await assertRunsOnce(hf, `k${bytes}`, bytes);
  await hf.finish();
});
