// Real client libraries, as npm has them, with holdfast in between: library × path × case, and a table of it.
//
// The verdict of a row is the effect log of the server: every call took effect once, whatever died and whoever sent
// again. Where the outcome is unknown the sentence of holdfast reaches the caller word for word.
import test, { after } from 'node:test';
import assert from 'node:assert/strict';
import { PATHS, assertEndsWell } from './paths.mjs';
import { LIBRARIES, diesDuring, nameOf, open, pays, sentenceOf } from './rows.mjs';

/** The form of an answer whose outcome is unknown (DESIGN 7). */
function assertOutcomeUnknown(answer) {
  const { result, error } = answer;
  assert.ok(!Object.keys(answer).includes('error'), `a result in the place of this error: ${JSON.stringify(error)}`);
  assert.equal(result.isError, true);
  assert.equal(result.content.length, 1);
  assert.equal(result.content[0].type, 'text');
  assert.equal(result.structuredContent, undefined);
  const outcome = result._meta['dev.holdfast/outcome'];
  assert.deepEqual(
    { code: outcome.code, dispatched: outcome.dispatched, retrySafe: outcome.retrySafe, retry: outcome.retry },
    { code: -31002, dispatched: true, retrySafe: false, retry: 'check_first' },
  );
}

const CASES = {
  list: {
    title: 'lists_the_tools',
    async run({ names, backend }) {
      assert.ok(names.includes(`${backend.prefix}${backend.pay}`), names.join(' '));
      assert.deepEqual(backend.effects(), []);
    },
  },
  call: {
    title: 'calls_a_tool_which_takes_effect_once',
    run: (row) => pays(row, 'pay'),
  },
  'idle kill': {
    title: 'does_not_notice_that_its_server_was_killed_while_idle',
    async run(row) {
      await pays(row, 'before');
      await pays(row, 'after', (call) => row.backend.killedBefore(call));
    },
  },
  death: {
    title: 'is_told_word_for_word_that_the_outcome_is_unknown_when_its_server_dies_after_the_effect',
    async run(row, t) {
      const { how, text } = await diesDuring(row);
      row.remark = how;
      assert.deepEqual(row.backend.effects(), ['before', 'pay']);
      const sentence = await sentenceOf(t, row.way);
      assert.ok(text.includes(sentence), `told: ${text}\nand not: ${sentence}`);
      if (row.client.answers) assertOutcomeUnknown(row.client.answers.at(-1));
      await pays(row, 'next');
    },
  },
  restarted: {
    title: 'does_not_notice_that_its_remote_server_restarted_and_lost_its_session',
    paths: ['serve', 'bridge'],
    isRemote: true,
    async run(row) {
      await pays(row, 'before');
      await pays(row, 'after', (call) => row.backend.restartedBefore(call));
    },
  },
};

const verdicts = {}; // by library and path: what the table says of each case

async function judge(t, name, way, what) {
  const cells = (verdicts[`${name} ${way}`] ??= {});
  cells[what] = 'RED';
  const row = await open(t, way, LIBRARIES[name].connect, CASES[what]);
  await CASES[what].run(row, t);
  const effects = [...row.backend.effects()];
  await row.close();
  await assertEndsWell(row);
  assert.deepEqual(row.backend.effects(), effects, 'nothing runs after its caller has gone');
  cells[what] = row.remark ? `ok, ${row.remark}` : 'ok';
}

for (const name of Object.keys(LIBRARIES)) {
  for (const way of Object.keys(PATHS)) {
    for (const [what, { title, paths = Object.keys(PATHS) }] of Object.entries(CASES)) {
      if (paths.includes(way)) test(`${name}_through_${way}_${title}`, { timeout: 90000 }, (t) => judge(t, name, way, what));
    }
  }
}

after(() => {
  const say = (...cells) => console.log(`table: ${cells.map((cell, i) => String(cell).padEnd([44, 7, 5, 5, 10, 13][i] ?? 0)).join(' ')}`);
  say('client library', 'path', ...Object.keys(CASES));
  for (const [name, library] of Object.entries(LIBRARIES)) {
    for (const way of Object.keys(PATHS)) {
      say(nameOf(library), way, ...Object.keys(CASES).map((what) => verdicts[`${name} ${way}`]?.[what] ?? '-'));
    }
  }
});
