// Real client libraries, as npm has them, with holdfast in between: library × path × case, and a table of it.
//
// The verdict of a row is the effect log of the server: every call took effect once, whatever died and whoever sent
// again. Where the outcome is unknown the sentence of holdfast reaches the caller word for word.
import test, { after } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../e2e/harness.mjs';
import { PATHS, assertEndsWell } from './paths.mjs';

// Read when the libraries are loaded: none of them is to report anything to anybody.
Object.assign(process.env, {
  MCP_USE_ANONYMIZED_TELEMETRY: 'false', MASTRA_TELEMETRY_DISABLED: '1', OPENAI_AGENTS_DISABLE_TRACING: '1', LANGSMITH_TRACING: 'false',
});
const adapter = (file) => import(`./${file}.mjs`);
const versionTwo = await adapter('sdk_v2');
const LIBRARIES = {
  plain: await adapter('plain'),
  sdk_v1: await adapter('sdk_v1'),
  sdk_v2_legacy: { ...versionTwo, note: ', legacy', connect: versionTwo.inMode('legacy') },
  sdk_v2_modern: { ...versionTwo, note: ', modern', connect: versionTwo.inMode({ pin: '2026-07-28' }) },
  ai_sdk: await adapter('ai_sdk'),
  openai_agents: await adapter('openai_agents'),
  langchain: await adapter('langchain'),
  mastra: await adapter('mastra'),
  mcp_use: await adapter('mcp_use'),
};

/** What the caller is told in the end, whichever way the library has of telling it. */
const told = (call) => call.then((text) => ({ how: 'returned', text }), (error) => ({ how: 'thrown', text: error.message }));

/** A call that works, with one effect. */
async function pays(row, key, around = (call) => call()) {
  const { client, prefix, backend } = row;
  const before = backend.effects().length;
  const { how, text } = await around(() => told(client.call(`${prefix}${backend.pay}`, { key })));
  assert.equal(how, 'returned', text);
  assert.deepEqual(backend.effects().slice(before), [key]);
}

/** A call whose server dies after the effect, in a row that has seen one that worked. */
async function diesDuring(row) {
  const { client, prefix, backend } = row;
  await pays(row, 'before');
  return backend.diesDuring(() => told(client.call(`${prefix}${backend.payAndDie}`, { key: 'pay' })), 'pay');
}

const sentences = {};
/** What a caller without a library is told on this path. */
async function sentenceOf(t, way) {
  sentences[way] ??= (await diesDuring(await open(t, way, LIBRARIES.plain.connect))).text;
  return sentences[way];
}

/** The form of an answer whose outcome is unknown (DESIGN 7). */
function assertOutcomeUnknown({ result, error }) {
  assert.equal(error, undefined, `a result in the place of this error: ${JSON.stringify(error)}`);
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
    async run({ names, prefix, backend }) {
      assert.ok(names.includes(`${prefix}${backend.pay}`), names.join(' '));
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

const verdicts = new Map(); // "library path" -> case -> what the table says

/** A path with its client, which knows the tools, as every agent does before it calls one; `close` also when the test has failed. */
async function open(t, way, connect, isRemote) {
  const row = { way, ...await PATHS[way](t, isRemote) };
  row.client = await connect(row.target);
  let closing;
  row.close = () => (closing ??= row.client.close());
  t.after(row.close);
  row.names = await row.client.list();
  return row;
}

async function judge(t, { name, connect, way, what }) {
  const cells = verdicts.get(`${name} ${way}`) ?? verdicts.set(`${name} ${way}`, {}).get(`${name} ${way}`);
  cells[what] = 'RED';
  const row = await open(t, way, connect, CASES[what].isRemote);
  await CASES[what].run(row, t);
  const effects = [...row.backend.effects()];
  await row.close();
  await assertEndsWell(row);
  assert.deepEqual(row.backend.effects(), effects, 'nothing runs after its caller has gone');
  cells[what] = row.remark ? `ok, ${row.remark}` : 'ok';
}

for (const [name, { connect }] of Object.entries(LIBRARIES)) {
  for (const way of Object.keys(PATHS)) {
    for (const [what, { title, paths = Object.keys(PATHS) }] of Object.entries(CASES)) {
      if (paths.includes(way)) test(`${name}_through_${way}_${title}`, { timeout: 90000 }, (t) => judge(t, { name, connect, way, what }));
    }
  }
}

after(() => {
  const version = (library) => {
    const file = path.join(ROOT, 'test/node_modules', library, 'package.json');
    return fs.existsSync(file) ? ` ${JSON.parse(fs.readFileSync(file)).version}` : '';
  };
  const say = (...cells) => console.log(`table: ${cells.map((cell, i) => String(cell).padEnd([44, 7, 5, 5, 10, 13][i] ?? 0)).join(' ')}`);
  say('client library', 'path', ...Object.keys(CASES));
  for (const [name, { library, note = '' }] of Object.entries(LIBRARIES)) {
    for (const way of Object.keys(PATHS)) {
      const cells = verdicts.get(`${name} ${way}`) ?? {};
      say(`${library}${version(library)}${note}`, way, ...Object.keys(CASES).map((what) => cells[what] ?? '-'));
    }
  }
});
