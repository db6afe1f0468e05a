// kills.mjs - kills the server again and again under load and counts what that cost.
//
//   node kills.mjs [KILLS] [SEED]     prints TAP, and a table of evidence in `# table:` lines
//
// Eight workers keep one request each in flight through one `holdfast run`; the server takes one line
// per read, so at most one call can be in doubt per kill. A kill waits until the calls that the last
// one hit are answered: a call hit twice is a test of the send cap, and that has its own.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { HOLDFAST, PLAIN_HOLDFAST, elapse, processState, run, stop, until } from '../e2e/harness.mjs';

const KILLS = Number(process.argv[2] ?? 1000);
const SEED = Number(process.argv[3] ?? process.env.SEED ?? Date.now() % 1000000007);
const WORKERS = 8;
const LARGE = 'l'.repeat(200000);

/** mulberry32: the same seed, the same choices. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

const KINDS = [ // share, name, request
  [0.45, 'tools/call', (hf, key) => hf.call('effect', { key })],
  [0.15, 'tools/call of 200 KB', (hf, key) => hf.call('effect', { key, pad_bytes: LARGE.length, pad: LARGE })],
  [0.05, 'tools/call of 3 ms', (hf, key) => hf.call('busy', { key, ms: 3 })],
  [0.05, 'tools/call of 3 ms after its effect', (hf, key) => hf.call('busy', { key, ms: 3, early: 1 })],
  [0.15, 'prompts/get', (hf) => hf.request('prompts/get', { name: 'greet', arguments: { who: 'w' } })],
  [0.15, 'resources/read', (hf) => hf.request('resources/read', { uri: 'effects://one' })],
];

function pick(kinds, chance) {
  let left = chance;
  return kinds.find(([share]) => (left -= share) < 0) ?? kinds[0];
}

class Load {
  constructor(hf) {
    this.hf = hf;
    this.done = []; // { kind, key, answer }
    this.open = new Set();
    this.isOver = false;
  }
  async work(worker) {
    const chance = random(SEED + 1000 + worker);
    for (let n = 0; !this.isOver; n++) {
      const [, kind, send] = pick(KINDS, chance());
      const key = `w${worker}-${n}`;
      const request = send(this.hf, key);
      this.open.add(request);
      const answer = await request;
      this.open.delete(request);
      this.done.push({ kind, key, answer });
    }
  }
}

async function killAll(hf, load) {
  const chance = random(SEED);
  for (let i = 0; i < KILLS; i++) {
    await elapse(chance() * 40); // a moment nobody chose
    const pid = hf.server.pid();
    if (chance() < 0.3) {
      await stop(pid);
      await hf.settle();
    }
    process.kill(pid, 'SIGKILL');
    const hit = [...load.open];
    await Promise.all(hit);
    await until(() => hf.server.pid() !== pid, 'the next process');
  }
}

const descriptors = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length;
const children = (pid) => fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);

let tests = 0;
function check(name, fn) {
  tests++;
  try {
    fn();
    console.log(`ok ${tests} - ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`not ok ${tests} - ${name}`);
    console.log(String(error.message).split('\n').slice(0, 20).map((line) => `# ${line}`).join('\n'));
  }
}

function table(hf, load, seconds) {
  const resent = (evidence) => hf.countStderr(`resend evidence=${evidence}\\b`);
  const rows = {
    unsent: resent('unsent'), partial: resent('partial'), unread: resent('unread'),
    dispatched: hf.countStderr('outcome_unknown evidence=dispatched\\b') + resent('dispatched'),
  };
  const say = (line) => console.log(`# table: ${line}`);
  say(`${KILLS} kills, seed ${SEED}, ${load.done.length} requests, ${seconds.toFixed(1)} s`);
  for (const [evidence, count] of Object.entries(rows)) say(`${evidence.padEnd(12)} ${String(count).padStart(6)}`);
  const unknown = load.done.filter(({ answer }) => answer.error?.code === -31002).length;
  say(`answered -31002: ${unknown}; read again although dispatched: ${resent('dispatched')}`);
  return rows;
}

function verify(hf, load, rows) {
  const effects = new Map();
  for (const key of hf.server.effects()) effects.set(key, (effects.get(key) ?? 0) + 1);
  const failures = load.done.filter(({ answer }) => answer.error);
  const unknown = failures.filter(({ answer }) => answer.error.code === -31002);
  check('each_request_is_answered_exactly_once', () => {
    assert.deepEqual(hf.strays, []);
    assert.equal(load.open.size, 0);
  });
  check('no_call_took_effect_twice', () => {
    assert.deepEqual([...effects].filter(([, n]) => n > 1), []);
  });
  check('every_success_has_its_effect', () => {
    const calls = load.done.filter(({ kind, answer }) => kind.startsWith('tools/call') && answer.result);
    assert.deepEqual(calls.filter(({ key }) => effects.get(key) !== 1).map(({ key }) => key), []);
  });
  check('nothing_but_an_unknown_outcome_ever_fails', () => {
    assert.deepEqual(failures.filter((f) => !unknown.includes(f)).map((f) => ({ kind: f.kind, error: f.answer.error })), []);
    assert.deepEqual(unknown.filter(({ kind }) => !kind.startsWith('tools/call')), []);
  });
  check('a_kill_costs_at_most_one_unknown_outcome', () => {
    const generations = unknown.map(({ answer }) => answer.error.data.generation);
    assert.equal(new Set(generations).size, generations.length, 'one generation left two calls in doubt');
    assert.ok(unknown.length <= KILLS);
  });
  const least = KILLS >= 1000 ? 20 : 1;
  check(`each_kind_of_evidence_was_seen_at_least_${least}_times`, () => {
    for (const [evidence, count] of Object.entries(rows)) assert.ok(count >= least, `${evidence}: ${count}`);
  });
}

async function main() {
  const program = process.env.KILLS_SAN === '1' ? HOLDFAST : PLAIN_HOLDFAST;
  const after = [];
  const hf = run({ after: (fn) => after.push(fn) }, {
    program, options: ['--reconnect-min-ms', '0', '--log-level', 'info'], flags: ['--read', 'one-line'],
  });
  try {
    await hf.initialize();
    await hf.call('echo', { text: 'x' });
    const fdsBefore = descriptors(hf.pid);
    const began = Date.now();
    const load = new Load(hf);
    const workers = Array.from({ length: WORKERS }, (_, i) => load.work(i));
    await killAll(hf, load);
    load.isOver = true;
    await Promise.all(workers);
    const rows = table(hf, load, (Date.now() - began) / 1000);
    verify(hf, load, rows);
    await until(() => descriptors(hf.pid) <= fdsBefore && children(hf.pid).length <= 1, 'the dust to settle', 10000).catch(() => {});
    check('no_descriptor_leaks', () => assert.ok(descriptors(hf.pid) <= fdsBefore, `${fdsBefore} before, ${descriptors(hf.pid)} after`));
    check('no_zombie_is_left', () => assert.deepEqual(children(hf.pid).filter((pid) => processState(pid) === 'Z'), []));
    const end = await hf.finish().catch((error) => error);
    check('it_ends_well_and_leaves_no_orphan', () => assert.ifError(end));
  } catch (error) {
    check('the_run_came_to_its_end', () => { throw error; });
    console.log(`# seed ${SEED}; the end of stderr:\n${hf.stderr.split('\n').slice(-30).map((l) => `# ${l}`).join('\n')}`);
  } finally {
    for (const fn of after) fn();
    console.log(`1..${tests}`);
  }
}

await main();
