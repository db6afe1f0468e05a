// kills.mjs - kills the server again and again under load and counts what that cost.
//
//   node kills.mjs [KILLS] [SEED]     prints TAP, and a table of evidence in `# table:` lines
//
// Eight clients with a session of their own each keep one request in flight through one `holdfast serve`;
// the server takes one line per read, so at most one call can be in doubt per kill. A kill waits until the
// calls that the last one may have hit are answered: a call hit twice is a test of the send cap, and that
// has its own.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { HOLDFAST, PLAIN_HOLDFAST, elapse, processState, stop, until } from '../e2e/harness.mjs';
import { serve } from '../e2e/http_harness.mjs';

const KILLS = Number(process.argv[2] ?? 1000);
const SEED = Number(process.argv[3] ?? process.env.SEED ?? Date.now() % 1000000007);
const CLIENTS = 8;
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
  [0.45, 'tools/call', (client, key) => client.call('effect', { key })],
  [0.15, 'tools/call of 200 KB', (client, key) => client.call('effect', { key, pad_bytes: LARGE.length, pad: LARGE })],
  [0.05, 'tools/call of 3 ms', (client, key) => client.call('busy', { key, ms: 3 })],
  [0.05, 'tools/call of 3 ms after its effect', (client, key) => client.call('busy', { key, ms: 3, early: 1 })],
  [0.15, 'prompts/get', (client) => client.request('prompts/get', { name: 'greet', arguments: { who: 'w' } })],
  [0.15, 'resources/read', (client) => client.request('resources/read', { uri: 'effects://one' })],
];

function pick(kinds, chance) {
  let left = chance;
  return kinds.find(([share]) => (left -= share) < 0) ?? kinds[0];
}

/** The one answer of a request; whatever else came on its exchange is a stray. */
async function onlyAnswer(client, request, strays) {
  const answer = await request;
  await request.trip.ended;
  strays.push(...request.trip.messages.filter((message) => message.method === undefined && message !== answer));
  client.trips = client.trips.filter((trip) => !trip.isEnded); // a long run, and each keeps its text
  return answer;
}

class Load {
  constructor() {
    this.done = []; // { kind, key, answer }
    this.open = new Set();
    this.strays = [];
    this.isOver = false;
  }
  async work(client, name) {
    const chance = random(SEED + 1000 + name);
    for (let n = 0; !this.isOver; n++) {
      const [, kind, send] = pick(KINDS, chance());
      const key = `c${name}-${n}`;
      const request = onlyAnswer(client, send(client, key), this.strays);
      this.open.add(request);
      const answer = await request;
      this.open.delete(request);
      this.done.push({ kind, key, answer });
    }
  }
}

/** What was sent before has been read by holdfast when this returns, or is still on its way: either is welcome. */
async function settle(client) {
  for (let i = 0; i < 3; i++) await client.request('ping');
}

async function killAll(server, watcher, load) {
  const chance = random(SEED);
  for (let i = 0; i < KILLS; i++) {
    await elapse(chance() * 40); // a moment nobody chose
    const pid = server.pid();
    if (chance() < 0.3) {
      await stop(pid);
      await settle(watcher);
    }
    process.kill(pid, 'SIGKILL');
    await Promise.all(load.open);
    await until(() => server.pid() !== pid, 'the next process');
    await Promise.all(load.open); // what came after the kill and before it was noticed
  }
}

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

// How far calls had got when their server was lost, as /metrics counts them: the log sums up what comes in floods.
function table(metrics, load, seconds) {
  const lost = (evidence) => Number(metrics.match(new RegExp(`^holdfast_losses_total\\{[^}]*evidence="${evidence}"[^}]*\\} (\\d+)$`, 'm'))[1]);
  const rows = Object.fromEntries(['unsent', 'partial', 'unread', 'dispatched'].map((evidence) => [evidence, lost(evidence)]));
  const say = (line) => console.log(`# table: ${line}`);
  say(`${KILLS} kills, seed ${SEED}, ${load.done.length} requests of ${CLIENTS} clients over HTTP, ${seconds.toFixed(1)} s`);
  for (const [evidence, count] of Object.entries(rows)) say(`${evidence.padEnd(12)} ${String(count).padStart(6)}`);
  const unknown = load.done.filter(({ answer }) => answer.error?.code === -31002).length;
  say(`answered -31002: ${unknown}; read again although dispatched: ${rows.dispatched - unknown}`);
  return rows;
}

function verify(server, load, rows) {
  const effects = new Map();
  for (const key of server.effects()) effects.set(key, (effects.get(key) ?? 0) + 1);
  const failures = load.done.filter(({ answer }) => answer.error);
  const unknown = failures.filter(({ answer }) => answer.error.code === -31002);
  check('each_request_is_answered_exactly_once', () => {
    assert.deepEqual(load.strays, []);
    assert.equal(load.open.size, 0);
  });
  check('no_call_took_effect_twice', () => {
    assert.deepEqual([...effects].filter(([, n]) => n > 1), []);
  });
  check('every_success_has_its_effect', () => {
    const calls = load.done.filter(({ kind, answer }) => kind.startsWith('tools/call') && !answer.error);
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

/** Processes of the server that are still there; a pid alone may be somebody else's by now. */
function left(server) {
  return server.pids().filter((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(server.effectLog);
    } catch {
      return false;
    }
  });
}

async function main() {
  const program = process.env.KILLS_SAN === '1' ? HOLDFAST : PLAIN_HOLDFAST;
  const after = [];
  const gateway = await serve({ after: (fn) => after.push(fn) }, {
    program, options: ['--reconnect-min-ms', '0', '--log-level', 'info'], servers: { effects: { flags: ['--read', 'one-line'] } },
  });
  const server = gateway.servers.effects;
  try {
    const watcher = await gateway.join('/mcp/effects');
    await watcher.call('echo', { text: 'x' });
    const fdsBefore = gateway.descriptors();
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => gateway.join('/mcp/effects')));
    const began = Date.now();
    const load = new Load();
    const work = clients.map((client, i) => load.work(client, i));
    await Promise.race([killAll(server, watcher, load), Promise.all(work)]); // a client that fails ends the run
    load.isOver = true;
    await Promise.all(work);
    const { text: metrics } = await gateway.get('/metrics');
    const rows = table(metrics, load, (Date.now() - began) / 1000);
    verify(server, load, rows);
    for (const client of clients) client.leave();
    const hasSettled = () => gateway.descriptors() <= fdsBefore && children(gateway.pid).length <= 1;
    await until(hasSettled, 'the dust to settle', 10000).catch(() => {});
    check('no_descriptor_leaks', () => assert.ok(gateway.descriptors() <= fdsBefore, `${fdsBefore} before, ${gateway.descriptors()} after`));
    check('no_zombie_is_left', () => assert.deepEqual(children(gateway.pid).filter((pid) => processState(pid) === 'Z'), []));
    const end = await gateway.finish().then(() => until(() => left(server).length === 0, 'every server to be gone')).catch((error) => error);
    check('it_ends_well_and_leaves_no_orphan', () => assert.equal(end, true));
  } catch (error) {
    check('the_run_came_to_its_end', () => { throw error; });
    console.log(`# seed ${SEED}; the end of stderr:\n${gateway.stderr.split('\n').slice(-30).map((l) => `# ${l}`).join('\n')}`);
  } finally {
    for (const fn of after) fn();
    console.log(`1..${tests}`);
  }
}

await main();
