// Everything at once, by chance: whatever happens, one answer per request, one effect per call, a clean end.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, elapse, killNow, runReady, textOf, until } from './harness.mjs';

const SEED = Number(process.env.SEED ?? Date.now() % 1000000007);
const STEPS = Number(process.env.STEPS ?? 600);

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

class Chaos {
  constructor(hf, chance) {
    this.hf = hf;
    this.chance = chance;
    this.calls = new Map(); // key -> promise of its answer
    this.cancelled = new Set();
    this.reads = [];
    this.n = 0;
  }
  one(list) {
    return list[Math.floor(this.chance() * list.length)];
  }
  call(tool, args = {}, options = {}) {
    const key = `k${this.n++}`;
    this.calls.set(key, this.hf.call(tool, { key, ...args }, { ms: 60000, ...options }));
  }
  /** A call that is cancelled soon: it may be answered before the cancel arrives, never after it twice. */
  async cancelledCall(tool, args, pauseMs) {
    const key = `k${this.n++}`;
    const id = `cancel-${key}`;
    this.cancelled.add(key);
    this.hf.answerTo(id, id, 3600000).catch(() => {});
    this.hf.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: tool, arguments: { key, ...args } } });
    if (pauseMs) await elapse(pauseMs);
    this.hf.notify('notifications/cancelled', { requestId: id });
  }
  read(method, params) {
    this.reads.push(this.hf.request(method, params, { ms: 60000 }));
  }
  signal(name) {
    try {
      killNow(this.hf.server.pid(), name);
    } catch { /* it was quicker */ }
  }
}

const DEEDS = [ // weight, deed
  [30, (c) => c.call('effect')],
  [6, (c) => c.call('effect', { pad: 'p'.repeat(Math.floor(c.chance() * 300000)) })],
  [8, (c) => c.call('slow', { ms: Math.floor(c.chance() * 80) })],
  [3, (c) => c.call('busy', { ms: Math.floor(c.chance() * 20), early: c.one([0, 1]) })],
  [3, (c) => c.call('effect_then_die')],
  [2, (c) => c.call('answer_then_die')],
  [2, (c) => c.call('answer_then_exit', { status: c.one([0, 0, 3]) })],
  [1, (c) => c.call('close_stdout')],
  [1, (c) => c.call('swallow')],
  [4, (c) => c.cancelledCall('slow', { ms: 1000 }, c.one([0, 0, 5]))],
  [2, (c) => c.cancelledCall('swallow', {}, c.one([0, 5]))],
  [3, (c) => c.call('ask', { method: c.one(['roots/list', 'ping', 'sampling/createMessage', 'odd/ask']), params: {} })],
  [3, (c) => c.call('progress', { n: 4 }, { meta: { progressToken: c.n } })],
  [4, (c) => c.call('garbage', { kind: c.one(['text', 'utf8', 'json', 'half', 'deep', 'duplicate', 'unknown_id', 'notification']) })],
  [2, (c) => c.call('bad_answer', { kind: c.one(['half', 'utf8', 'duplicate_id', 'both', 'twice']) })],
  [2, (c) => c.call('change_tools')],
  [1, (c) => c.call('spawn_grandchild', { hold: c.one(['', 'i', 'o', 'ioe']) })],
  [1, (c) => c.call('big', { bytes: 3000000, id: c.one(['first', 'last', 'nested']) })],
  [4, (c) => c.read('tools/list', {})],
  [4, (c) => c.read('prompts/get', { name: 'greet' })],
  [3, (c) => c.read('resources/read', { uri: 'effects://one' })],
  [1, (c) => c.read('logging/setLevel', { level: 'info' })],
  [1, (c) => c.read('resources/subscribe', { uri: 'effects://one' })],
  [2, (c) => c.hf.send('not json at all\n')],
  [5, (c) => c.signal('SIGKILL')],
  [3, (c) => c.signal('SIGSTOP')],
  [3, (c) => c.signal('SIGCONT')],
  [2, (c) => c.hf.server.failStarts(true)],
  [4, (c) => c.hf.server.failStarts(false)],
  [20, (c) => elapse(c.chance() * 20)],
];

function deedFor(chance) {
  let left = chance() * DEEDS.reduce((sum, [weight]) => sum + weight, 0);
  return DEEDS.find(([weight]) => (left -= weight) < 0)[1];
}

function judge(hf, key, answer, effects) {
  const n = effects.get(key) ?? 0;
  assert.ok(n <= 1, `${key} took effect ${n} times`);
  if (answer.error && answer.error.code <= -31001 && answer.error.code >= -31010) assertOurError(answer, answer.error.code, {}, { serverless: true });
  if (answer.error?.data?.dispatched === false) assert.equal(n, 0, `${key} ran although it was called unsent`);
}

// @field Y15: nobody waits for ever, whenever he came
// @field B4: whatever an old generation still says, the new one is not harmed by it
test('whatever_happens_each_request_gets_one_true_answer_and_no_call_runs_twice', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const chance = random(SEED);
  const hf = await runReady(t, {
    capabilities: { roots: {}, sampling: {} },
    options: [
      '--reconnect-min-ms', '5', '--reconnect-max-ms', '40', '--call-timeout-ms', '2500', '--wait-ms', '8000', '--max-message-bytes', '1000000',
      '--eof-ms', '100', '--close-ms', '100', '--term-ms', '100', '--liveness-timeout-ms', '200', '--liveness-gap-ms', '100', '--stall-ms', '1000',
    ],
  });
  const patience = random(SEED + 1);
  hf.onRequest = async () => { // a budget stands still while we think, so an answer must come
    await elapse(patience() < 0.3 ? patience() * 300 : 0);
    return { result: { roots: [] } };
  };
  const chaos = new Chaos(hf, chance);
  for (let i = 0; i < STEPS; i++) await deedFor(chance)(chaos);
  hf.server.failStarts(false);
  chaos.signal('SIGCONT');

  const answers = [];
  for (const [key, call] of chaos.calls) answers.push([key, await call]);
  for (const read of chaos.reads) await read;
  textOf(await until(async () => {
    const answer = await hf.call('effect', { key: 'healed' });
    return answer.result && answer;
  }, 'it to heal'));
  const effects = new Map();
  for (const key of hf.server.effects()) effects.set(key, (effects.get(key) ?? 0) + 1);
  for (const [key, answer] of answers) judge(hf, key, answer, effects);
  for (const key of chaos.cancelled) assert.ok((effects.get(key) ?? 0) <= 1, key);
  hf.strays = hf.strays.filter((line) => !line.includes('"id":null')); // our own lines that were not JSON
  await hf.finish();
});
