// `holdfast stdio -c FILE`: many servers behind one endpoint.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { EFFECTS, assertOurError, isGone, scratch, stdio, stdioReady, textOf, until } from './harness.mjs';

const QUICK_END = { closeMs: 100, termMs: 100 };

test('names_are_prefixed_with_the_server_and_calls_find_it', async (t) => {
  const hf = await stdioReady(t, { servers: { one: {}, two: {} } });
  const names = await hf.toolNames();
  assert.ok(names.includes('one__effect') && names.includes('two__effect') && !names.includes('effect'), names.join(' '));
  textOf(await hf.call('one__effect', { key: 'a' }));
  textOf(await hf.call('two__effect', { key: 'b' }));
  assert.deepEqual(hf.servers.one.effects(), ['a']);
  assert.deepEqual(hf.servers.two.effects(), ['b']);
  assert.equal((await hf.call('three__effect', {})).error.code, -32602);
  await hf.finish();
});

test('the_aggregate_introduces_itself_and_joins_the_instructions', async (t) => {
  const hf = stdio(t, { servers: { one: { flags: ['--instructions', 'first words'] }, two: { flags: ['--instructions', 'other words'] } } });
  await until(() => hf.servers.one.pid() && hf.servers.two.pid(), 'both to start');
  const hello = await hf.initialize();
  assert.equal(hello.serverInfo.name, 'holdfast');
  for (const kind of ['tools', 'prompts', 'resources']) assert.equal(hello.capabilities[kind].listChanged, true);
  await hf.tools();
  await hf.finish();
});

test('prompts_resources_templates_and_completion_find_their_server', async (t) => {
  const hf = await stdioReady(t, { servers: { one: {}, two: {} } });
  assert.deepEqual((await hf.request('prompts/list', {})).result.prompts.map((p) => p.name), ['one__greet', 'two__greet']);
  const prompt = await hf.request('prompts/get', { name: 'two__greet', arguments: { who: 'me' } });
  assert.equal(prompt.result.messages[0].content.text, 'me');
  assert.equal(hf.servers.two.count('got prompts/get'), 1);
  for (const [uri, server] of [['one://one', 'one'], ['two://two', 'two'], ['two://item/5', 'two']]) {
    const before = hf.servers[server].count('got resources/read');
    const answer = await hf.request('resources/read', { uri });
    assert.equal(answer.result.contents[0].uri, uri);
    assert.equal(hf.servers[server].count('got resources/read'), before + 1);
  }
  assert.ok((await hf.request('resources/read', { uri: 'nobody://x' })).error);
  const done = await hf.request('completion/complete', { ref: { type: 'ref/prompt', name: 'two__greet' }, argument: { name: 'who', value: 'ab' } });
  assert.deepEqual(done.result.completion.values, ['ab']);
  assert.equal(hf.servers.two.count('got completion/complete'), 1);
  assert.ok((await hf.request('resources/subscribe', { uri: 'two://one' })).result);
  textOf(await hf.call('two__touch', { uri: 'two://one' }));
  assert.equal((await hf.waitFor('notifications/resources/updated')).params.uri, 'two://one');
  await hf.finish();
});

// @field Y12: a clash of names hides one tool and fails nothing
test('without_prefix_the_first_server_wins_a_clash_and_the_other_is_warned_about', async (t) => {
  const hf = await stdioReady(t, { servers: { one: { prefix: 'never' }, two: { prefix: 'never' } } });
  const names = await hf.toolNames();
  assert.equal(names.filter((n) => n === 'effect').length, 1);
  textOf(await hf.call('effect', { key: 'k' }));
  assert.deepEqual([hf.servers.one.effects(), hf.servers.two.effects()], [['k'], []]);
  await hf.waitForStderr(/warn.*two/i);
  await hf.finish();
});

test('allow_and_deny_hide_tools_and_refuse_their_calls', async (t) => {
  const hf = await stdioReady(t, { servers: { one: { allow: ['e*', 'slow'], deny: ['*die*'] } } });
  const names = await hf.toolNames();
  assert.deepEqual(names.filter((n) => !/^one__(e|slow)/.test(n)), []);
  assert.ok(names.includes('one__effect') && !names.includes('one__effect_then_die'), names.join(' '));
  assertOurError(await hf.call('one__effect_then_die', { key: 'no' }), -31007, { dispatched: false, retry: 'no' });
  assertOurError(await hf.call('one__big', {}), -31007);
  assert.deepEqual(hf.servers.one.effects(), []);
  await hf.finish();
});

test('rename_and_describe_change_what_the_client_sees_and_nothing_else', async (t) => {
  const hf = await stdioReady(t, { servers: { one: { rename: { effect: 'pay' }, describe: { effect: 'Pays "once".' } } } });
  const tools = await hf.tools();
  const pay = tools.find((tool) => tool.name === 'one__pay');
  assert.equal(pay.description, 'Pays "once".');
  assert.ok(!tools.some((tool) => tool.name === 'one__effect'));
  textOf(await hf.call('one__pay', { key: 'k' }));
  assert.deepEqual(hf.servers.one.effects(), ['k']);
  await hf.finish();
});

test('odd_characters_in_a_server_name_become_underscores_in_the_prefix', async (t) => {
  const hf = await stdioReady(t, { servers: { 'my server!': {} } });
  assert.ok((await hf.toolNames()).includes('my_server___effect'));
  textOf(await hf.call('my_server___effect', { key: 'k' }));
  await hf.finish();
});

test('names_over_64_characters_get_a_short_stable_form_that_works', async (t) => {
  const long = `a_server_with_quite_a_long_name_that_somebody_really_gave_it`;
  const names = [];
  for (let i = 0; i < 2; i++) {
    const hf = await stdioReady(t, { servers: { [long]: {} } });
    names.push(await hf.toolNames());
    assert.deepEqual(names[i].filter((n) => n.length > 64), []);
    assert.equal(new Set(names[i]).size, names[i].length);
    await hf.finish();
  }
  assert.deepEqual(names[0], names[1]);
});

test('a_disabled_server_is_not_started_and_its_names_say_so', async (t) => {
  const hf = await stdioReady(t, { servers: { on: {}, off: { disabled: true } } });
  assert.deepEqual((await hf.toolNames()).filter((n) => n.startsWith('off')), []);
  assertOurError(await hf.call('off__effect', { key: 'k' }), -31003, { dispatched: false, retry: 'no', state: 'disabled' });
  assert.equal(hf.servers.off.starts().length, 0);
  await hf.finish();
});

// @field Y12: one bad entry in the file fails only itself
// @field A16: a server that cannot start is left out, the others serve
// @field B22: one bad server never fails the others
test('a_server_with_a_mistake_in_its_entry_is_failed_and_the_others_start', async (t) => {
  const hf = await stdioReady(t, { servers: { bad: { command: '/no/such/command' }, lost: { env: { X: '${NOT_SET_ANYWHERE}' } }, good: {} } });
  textOf(await hf.call('good__effect', { key: 'k' }));
  for (const name of ['bad', 'lost']) assertOurError(await hf.call(`${name}__effect`, {}), -31004, { reason: 'config', state: 'permanently_failed' });
  await hf.finish();
});

// @field X9: a child gets the usual variables and its own, never our secrets
test('a_server_of_a_file_gets_the_usual_environment_and_what_the_file_gives_it', async (t) => {
  const env = { SECRET: 's3cret', HOLDFAST_X: 'ours', LC_TIME: 'C', XDG_DATA_HOME: '/x', GIVEN: 'v', TERM: 'dumb', AWS_KEY: 'k', AWS_ID: 'i' };
  const hf = await stdioReady(t, {
    env,
    servers: {
      plain: { env: { OWN: 'a-${GIVEN}', FALLBACK: '${NOPE:-b}' } },
      some: { inheritEnv: ['AWS_*', 'HOLDFAST_*'] },
      all: { inheritEnv: true },
    },
  });
  const seen = async (server, name) => textOf(await hf.call(`${server}__env`, { name }));
  for (const name of ['HOME', 'PATH', 'LC_TIME', 'XDG_DATA_HOME', 'TERM']) assert.notEqual(await seen('plain', name), '(unset)', name);
  assert.equal(await seen('plain', 'OWN'), 'a-v');
  assert.equal(await seen('plain', 'FALLBACK'), 'b');
  for (const name of ['SECRET', 'GIVEN', 'AWS_KEY', 'HOLDFAST_X']) assert.equal(await seen('plain', name), '(unset)', name);
  assert.equal(await seen('some', 'AWS_KEY'), 'k');
  assert.equal(await seen('some', 'SECRET'), '(unset)');
  assert.equal(await seen('all', 'SECRET'), 's3cret');
  for (const server of ['some', 'all']) assert.equal(await seen(server, 'HOLDFAST_X'), '(unset)');
  await hf.finish();
});

test('a_server_runs_in_its_cwd', async (t) => {
  const dir = fs.realpathSync(scratch());
  const hf = await stdioReady(t, { servers: { one: { cwd: dir } } });
  assert.equal(textOf(await hf.call('one__where')), dir);
  await hf.finish();
});

// @field B22: one server's death is not the other's business
test('the_death_of_one_server_is_not_seen_at_another', async (t) => {
  const hf = await stdioReady(t, { servers: { one: {}, two: {} }, defaults: { reconnect: { minMs: 0 } } });
  const slow = hf.call('two__slow', { ms: 300, key: 'slow' });
  assertOurError(await hf.call('one__effect_then_die', { key: 'k' }), -31002, { server: 'one' });
  textOf(await slow);
  assert.equal(hf.servers.two.starts().length, 1);
  await hf.finish();
});

test('a_lazy_server_is_started_by_its_first_call_and_not_by_a_greeting', async (t) => {
  const hf = stdio(t, { servers: { eager: {}, lazy: { start: 'lazy' } } });
  await hf.initialize();
  textOf(await hf.call('eager__effect', { key: 'k' }));
  await hf.settle();
  assert.equal(hf.servers.lazy.starts().length, 0);
  textOf(await hf.call('lazy__effect', { key: 'k' }));
  assert.equal(hf.servers.lazy.starts().length, 1);
  await hf.finish();
});

/** One server that hangs: initialize, lists and calls of the other are unaffected from the start. */
async function besides(t, flags, keys = {}) {
  const hf = stdio(t, { servers: { bad: { flags, ...QUICK_END, ...keys }, good: {} }, defaults: { listWaitMs: 400 } });
  const began = Date.now();
  await hf.initialize();
  textOf(await hf.call('good__effect', { key: 'k0' }));
  assert.ok((await hf.toolNames()).includes('good__effect'));
  assert.ok(Date.now() - began < 5000, `it took ${Date.now() - began} ms`);
  for (let i = 1; i < 5; i++) textOf(await hf.call('good__effect', { key: `k${i}` }));
  return hf;
}

// @field B17: a server stuck in its start delays no other
// @field D17: one wedged server cannot hold up the list of the rest
test('a_server_that_hangs_in_its_start_delays_no_other', async (t) => {
  const hf = await besides(t, ['--hang-start']);
  await hf.finish();
});

// @field D17: one wedged server cannot hold up the list of the rest
// @field B18: an aggregate list leaves out who does not answer
test('a_server_that_hangs_in_its_list_delays_no_other', async (t) => {
  const hf = await besides(t, ['--hang-list']);
  await hf.finish();
});

// @field B17: a server stuck in its close delays no other
test('a_server_that_hangs_in_its_close_delays_no_other', async (t) => {
  const hf = await besides(t, ['--hang-close'], { idleMs: 50, closeMs: 3000, termMs: 3000 });
  const old = hf.servers.bad.pid();
  await until(() => hf.servers.bad.count('eof', old) === 1, 'the bad one to be in its close');
  const began = Date.now();
  for (let i = 0; i < 5; i++) textOf(await hf.call('good__effect', { key: `while${i}` }));
  assert.ok(Date.now() - began < 1000);
  assert.ok(!isGone(old), 'it was in its close all the while');
  await hf.finish();
});

test('log_level_and_reverse_requests_work_with_one_client_over_many_servers', async (t) => {
  const hf = await stdioReady(t, { servers: { one: {}, two: {} }, capabilities: { roots: {} } });
  hf.onRequest = () => ({ result: { roots: [] } });
  assert.equal(textOf(await hf.call('two__ask', { method: 'roots/list' })), '{"roots":[]}');
  assert.ok((await hf.request('logging/setLevel', { level: 'error' })).result);
  await until(() => ['one', 'two'].every((name) => hf.servers[name].count('level error') === 1), 'the level at both');
  textOf(await hf.call('one__log', { text: 'hi' }));
  assert.equal((await hf.waitFor('notifications/message')).params.data, 'hi');
  await hf.finish();
});

// Each of them speaks only when all of them run: started one after the other, none would ever be listed.
const ALL_TOGETHER = ': >"$1/$0"; until [ "$(ls "$1" | wc -l)" -eq "$2" ]; do sleep 0.02; done; exec "$3" --name "$0"';

test('the_first_list_wakes_fifty_lazy_servers_at_once_and_waits_for_all_of_them', async (t) => {
  const COUNT = 50;
  const started = path.join(scratch(), 'started');
  fs.mkdirSync(started);
  const servers = Object.fromEntries(Array.from({ length: COUNT }, (_, i) => [`s${i}`, {
    command: '/bin/sh', args: ['-c', ALL_TOGETHER, `s${i}`, started, String(COUNT), EFFECTS],
  }]));
  const hf = stdio(t, { servers, defaults: { start: 'lazy', listWaitMs: 60000 } });
  await hf.initialize();
  assert.deepEqual(fs.readdirSync(started), []);
  const names = await hf.toolNames();
  assert.equal(names.filter((name) => /^s\d+__effect$/.test(name)).length, COUNT);
  await hf.finish();
});
