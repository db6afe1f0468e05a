// Real agents, driven by a scripted model, with holdfast in between and without: `make clients`.
//
// Through holdfast the verdict is the effect log of the server, as for the libraries. Without holdfast there is no
// verdict: what a client does with an error, with a result that is one, and with a death is its habit, and is noted.
// Both tables go into docs/CLIENTS.md.
import test, { after } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, Server, killIfOurs, lines, scratch } from '../../e2e/harness.mjs';
import { PATHS, assertEndsWell } from '../paths.mjs';
import { LIBRARIES, nameOf, sentenceOf, told } from '../rows.mjs';
import { AGENTS, MODULES, play } from './agents.mjs';

const BARE = path.join(ROOT, 'test/clients/agents/bare_server.mjs');
const PAGE = path.join(ROOT, 'docs/CLIENTS.md');

class BareServer extends Server {
  pay = 'pay';
  payAndDie = 'pay_and_die';
  constructor(dir) {
    super(dir, 'bare');
    this.callLog = path.join(dir, 'bare.calls');
    this.command = process.execPath;
    this.args = [BARE, this.effectLog, this.instanceLog, this.callLog];
  }
  calls() {
    return lines(this.callLog).map((line) => JSON.parse(line));
  }
}
const makeServer = (dir) => new BareServer(dir);

/* ---- through holdfast ---- */

const CASES = ['list', 'call', 'idle kill', 'death', 'restarted'];
const verdicts = {};

/** One session of an agent goes through all cases of a path. */
function scriptOf({ local, remote }) {
  const backend = local ?? remote;
  const step = (what, server, tool, key, around) => ({ what, server, key, tool: `${server.prefix}${server[tool]}`, args: { key }, around });
  return [
    step('call', backend, 'pay', 'before'),
    step('idle kill', backend, 'pay', 'after', (call) => backend.killedBefore(call)),
    step('death', backend, 'payAndDie', 'pay', (call) => backend.diesDuring(call, 'pay')),
    step('death', backend, 'pay', 'next'),
    ...(remote ? [step('restarted', remote, 'pay', 'last', (call) => remote.restartedBefore(call))] : []),
  ].map(({ around, ...rest }) => (around ? { around, ...rest } : rest));
}

for (const [name, agent] of Object.entries(AGENTS)) {
  for (const way of Object.keys(PATHS)) {
    test(`${name}_through_${way}_runs_no_call_twice_and_its_model_reads_the_truth`, { timeout: 300_000 }, async (t) => {
      const cells = (verdicts[`${name} ${way}`] = Object.fromEntries(CASES.map((what) => [what, 'RED'])));
      const sentence = await sentenceOf(t, way, makeServer);
      const row = await PATHS[way](t, makeServer);
      if (!row.remote) cells.restarted = '-';
      const script = scriptOf(row);
      const played = await play(t, agent, { dir: row.dir, target: row.target, script });
      await assertEndsWell(row);
      assert.equal(played.broken, undefined);
      assert.ok(played.told.length > 0, `the model was offered ${played.missing}; the agent says\n${played.said.slice(-3000)}`);
      cells.list = 'ok';
      const problems = script.flatMap(({ what, server, key, tool }, i) => {
        const ran = server.effects().filter((each) => each === key).length;
        const text = played.told[i]?.text ?? '(nothing)';
        const wanted = tool.endsWith(server.payAndDie) ? sentence : `paid ${key}`;
        const isRight = ran === 1 && text.includes(wanted);
        if (isRight && cells[what] === 'RED') cells[what] = 'ok';
        if (!isRight) cells[what] = ran === 1 ? 'words lost' : `ran ${ran} times`;
        return isRight ? [] : [`${what}: ${tool} ran ${ran} times and the model was told\n${text}\nnot\n${wanted}`];
      });
      assert.deepEqual(problems, []);
    });
  }
}

/* ---- without holdfast: habits ---- */

const NETWORK = 'The session was lost: connection refused, not connected, fetch failed, http 404, connection closed.';
const HABITS = [
  { key: 'works', title: 'works', tool: 'pay' },
  { key: 'error', title: 'error', tool: 'pay_then_error', words: 'The outcome is not known.' },
  { key: 'network', title: 'error, words of the network', tool: 'pay_then_error', words: NETWORK },
  { key: 'idempotent', title: 'the same, `idempotentHint`', tool: 'pay_then_error_again', words: NETWORK },
  { key: 'result', title: '`isError` result', tool: 'pay_then_tool_error', words: NETWORK },
  { key: 'death', title: 'server dies, `idempotentHint`', tool: 'pay_and_die' },
  { key: 'next', title: 'next call', tool: 'pay' },
];
const habits = {};

/** What one client did: for each habit how often the tool ran, and whether its caller got the words. */
function note(name, server, texts) {
  const times = (key) => server.effects(key);
  const cells = HABITS.map(({ key, words }, i) => {
    if (!words) return `${times(key)} ×`;
    return `${times(key)} ×, ${(texts[i] ?? '').includes(words) ? 'words kept' : 'words lost'}`;
  });
  const ids = new Set(server.calls().flatMap(({ _meta = {} }) => Object.keys(_meta)).filter((key) => key !== 'progressToken'));
  habits[name] = [...cells, [...ids].join(' ') || '-'];
}

for (const [name, agent] of Object.entries(AGENTS)) {
  test(`the_habits_of_${name}_are_noted`, { timeout: 300_000 }, async (t) => {
    const dir = scratch();
    const server = new BareServer(dir);
    const script = HABITS.map(({ key, tool, words }) => ({ tool, args: words ? { key, words } : { key } }));
    const target = { command: server.command, args: server.args, env: {} };
    const played = await play(t, agent, { dir, target, script });
    for (const pid of server.pids()) killIfOurs(pid, BARE);
    note(nameOf(agent, MODULES), server, played.told.map((result) => result?.text));
    assert.ok(server.effects('works') === 1, played.said.slice(-3000));
  });
}
for (const [name, library] of Object.entries(LIBRARIES)) {
  if (name === 'plain' || name === 'sdk_v2_modern') continue; // no library; a server of the other era
  test(`the_habits_of_${name}_are_noted`, { timeout: 300_000 }, async (t) => {
    const dir = scratch();
    const server = new BareServer(dir);
    const client = await library.connect({ command: server.command, args: server.args, cwd: dir, env: process.env });
    t.after(() => client.close());
    await client.list();
    const texts = [];
    for (const { key, tool, words } of HABITS) texts.push((await told(client.call(tool, words ? { key, words } : { key }))).text);
    note(nameOf(library), server, texts);
    assert.equal(server.effects('works'), 1);
  });
}

/* ---- the tables ---- */

const markdown = (rows) => rows.map((cells, i) => `| ${cells.join(' | ')} |${i ? '' : `\n|${'---|'.repeat(cells.length)}`}`).join('\n');

/** The part of the page between the marks of this name is ours; it says when it was made. */
function put(page, name, table) {
  const [begin, end] = ['begin', 'end'].map((what) => `<!-- ${what} ${name} -->`);
  assert.ok(page.includes(begin) && page.includes(end), `${PAGE} has no place for ${name}`);
  return `${page.slice(0, page.indexOf(begin))}${begin}\nRun on ${new Date().toISOString().slice(0, 10)}.\n\n${table}\n${page.slice(page.indexOf(end))}`;
}

after(() => {
  const through = markdown([['agent', 'path', ...CASES], ...Object.entries(AGENTS).flatMap(([name, agent]) => Object.keys(PATHS)
    .filter((way) => verdicts[`${name} ${way}`]).map((way) => [nameOf(agent, MODULES), way, ...CASES.map((what) => verdicts[`${name} ${way}`][what])]))]);
  const without = markdown([['client', ...HABITS.map(({ title }) => title), '`_meta`'], ...Object.entries(habits).map(([name, cells]) => [name, ...cells])]);
  console.log(`${through}\n\n${without}`);
  if (!process.env.CLIENTS_ONLY) fs.writeFileSync(PAGE, put(put(fs.readFileSync(PAGE, 'utf8'), 'agents', through), 'habits', without));
});
