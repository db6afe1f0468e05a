// Servers that change their era behind the same config, and legacy ones that do not like to be asked for theirs.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { run, scratch, textOf } from './harness.mjs';
import { serve } from './http_harness.mjs';
import { GUESTS, Guest, SdkServer } from './sdk_harness.mjs';

/** A server whose era stands in a file. */
function switching(dir, transport) {
  const file = path.join(dir, `${transport}.era`);
  const server = new SdkServer(dir, `@${file}`, transport, `switch-${transport}`);
  server.become = (era) => fs.writeFileSync(file, era);
  server.become('legacy');
  return server;
}

/** Every kind of client calls, and is told nothing but the answer. */
async function everybodyCalls(guests, server, when) {
  const names = await Promise.all(guests.map((guest) => guest.text('pay', { key: `${guest.kind}-${when}` })));
  assert.deepEqual(names, guests.map((guest) => `paid ${guest.kind}-${when}`));
  for (const guest of guests) {
    assert.equal(server.effects(`${guest.kind}-${when}`), 1);
    assert.deepEqual(guest.news, [], `${guest.kind} is told nothing`);
  }
}

for (const transport of ['stdio', 'http']) {
  test(`a_server_over_${transport}_upgraded_in_place_and_back_is_but_a_slow_call_to_every_client`, async (t) => {
    const dir = scratch();
    const server = switching(dir, transport);
    if (server.isRemote) await server.start(t);
    const gateway = await serve(t, { dir, servers: { it: { ...server.config, reconnect: { minMs: 0 } } } });
    const guests = Object.keys(GUESTS).map((kind) => new Guest(kind));
    for (const guest of guests) await guest.overHttp(t, `${gateway.origin}/mcp/it`);
    const tools = await guests[0].toolNames();
    await everybodyCalls(guests, server, 'before');
    for (const [era, when] of [['modern', 'upgraded'], ['legacy', 'back'], ['modern', 'again']]) {
      server.become(era);
      if (server.isRemote) {
        await server.stop();
        await server.start(t);
      } else {
        await server.kill();
      }
      await everybodyCalls(guests, server, when);
      assert.equal(server.count(`era ${era}`, server.pid()), 1);
      assert.deepEqual(await guests[0].toolNames(), tools);
    }
    for (const guest of guests) await guest.leave();
    await gateway.finish();
  });
}

for (const [manner, says] of [['silent', 'stays_silent_on'], ['exit', 'exits_on']]) {
  test(`a_legacy_server_that_${says}_the_question_for_its_era_is_connected_uncharged`, async (t) => {
    const dir = scratch();
    const server = new SdkServer(dir, 'legacy', `stdio-${manner}`);
    const hf = run(t, {
      options: ['--era-probe-ms', '150', '--reconnect-first-attempts', '1', '--log-level', 'info'], command: [server.command, ...server.args],
    });
    await hf.initialize();
    assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
    assert.equal(server.effects('k'), 1);
    assert.equal(server.count('got server/discover'), 1, 'it was asked once');
    assert.equal(server.starts().length, manner === 'exit' ? 2 : 1);
    assert.doesNotMatch(hf.stderr, / (warn|error) /);
    await hf.finish();
  });
}
