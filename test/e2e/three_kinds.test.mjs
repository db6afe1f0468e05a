// Three kinds of official clients at once at one endpoint, before a legacy and a modern server that are killed again and again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { killNow, scratch, until } from './harness.mjs';
import { serve } from './http_harness.mjs';
import { GUESTS, Guest, SdkServer } from './sdk_harness.mjs';

const CALLS = 100; // of each client
const KILLS = 20;
const cleanups = [];
const whole = { after: (fn) => cleanups.push(fn) };
let gateway, legacy, modern;

before(async () => {
  const dir = scratch();
  legacy = new SdkServer(dir, 'legacy', 'stdio', 'old');
  modern = new SdkServer(dir, 'modern', 'stdio', 'new');
  const servers = Object.fromEntries([legacy, modern].map((server) => [server.name, { ...server.config, reconnect: { minMs: 0 } }]));
  gateway = await serve(whole, { dir, servers });
});
after(async () => {
  await gateway?.finish();
  for (const fn of cleanups) await fn();
});

/** What a call came to: its text, or the code of its error. */
async function outcome(guest, server, key) {
  try {
    const result = await guest.call(`${server.name}__pay`, { key }, { timeout: 120_000 });
    const failed = result._meta?.['dev.holdfast/outcome'];
    return failed ? { key, server, code: failed.code, data: failed } : { key, server, text: result.content[0].text };
  } catch (error) {
    return { key, server, code: error.code, data: error.data };
  }
}

/** Kills one server after the other, each as soon as enough calls were answered since the last time. */
async function kill(answers) {
  for (let i = 1; i <= KILLS; i++) {
    await until(() => answers.length >= (i * 3 * CALLS) / (KILLS + 2), `${i} kills' worth of answers`, 120_000);
    const server = i % 2 ? legacy : modern;
    const pid = server.pid();
    killNow(pid);
    await until(() => server.pid() !== pid, `the next process of ${server.name}`, 60_000);
  }
}

test('three_kinds_of_clients_at_one_endpoint_get_one_answer_each_and_no_call_runs_twice_under_twenty_kills', { timeout: 240_000 }, async (t) => {
  const guests = await Promise.all(Object.keys(GUESTS).map((kind) => new Guest(kind).overHttp(t, `${gateway.origin}/mcp`)));
  for (const guest of guests) assert.ok((await guest.toolNames()).includes('new__pay'), guest.kind);
  const answers = [];
  const work = guests.map(async (guest) => {
    for (let n = 0; n < CALLS; n++) answers.push(await outcome(guest, n % 2 ? legacy : modern, `${guest.kind}-${n}`));
  });
  await Promise.all([kill(answers), ...work]);
  assert.equal(answers.length, 3 * CALLS);
  const failed = answers.filter(({ text }) => text === undefined);
  assert.deepEqual(failed.filter(({ code }) => code !== -31002), [], 'nothing fails but with an unknown outcome');
  assert.ok(failed.length <= KILLS * guests.length, `${failed.length} unknown outcomes`);
  for (const { key, server, text } of answers) {
    const effects = server.effects(key);
    assert.ok(effects <= 1, `${key} ran ${effects} times`);
    if (text !== undefined) assert.equal(effects, 1, `${key} was answered and did not run`);
  }
});
