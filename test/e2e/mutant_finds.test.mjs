// mutant_finds.test.mjs - what `make mutants` found that no other test of the real program would notice.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { isGone, run, runReady, scratch, textOf, until } from './harness.mjs';

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
