// The list of tools: the same through an outage, changed once when it really changed.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { run, runReady, scratch, textOf, until } from './harness.mjs';

const SOON = ['--reconnect-min-ms', '20', '--reconnect-max-ms', '40', '--reconnect-jitter', '0'];
const LIST_CHANGED = 'notifications/tools/list_changed';

/** The bytes of the list, without the envelope that holds the id. */
async function listBytes(hf) {
  const list = hf.request('tools/list', {});
  await list;
  return hf.rawAnswers.get(String(list.id)).replace(`"id":${list.id}`, '');
}

// @field B12: the last good tools stay listed while the server is away
// @field Z4: tools do not vanish while reconnecting
// @field B2: no reader ever sees an empty list between two generations
test('the_list_is_the_same_to_the_byte_before_during_and_after_an_outage_and_nobody_is_told', async (t) => {
  const hf = await runReady(t, { options: SOON });
  const before = await listBytes(hf);
  hf.server.failStarts();
  await hf.server.kill();
  for (let starts = 2; starts < 5; starts++) {
    await until(() => hf.server.starts().length >= starts, 'another attempt');
    assert.equal(await listBytes(hf), before);
  }
  hf.server.failStarts(false);
  textOf(await hf.call('effect', { key: 'back' }));
  assert.equal(await listBytes(hf), before);
  assert.equal(hf.count(LIST_CHANGED), 0);
  await hf.finish();
});

async function withToolFile(t, names, options = SOON) {
  const file = path.join(scratch(), 'tools');
  const offer = (list) => {
    fs.writeFileSync(`${file}.new`, `${list.join('\n')}\n`);
    fs.renameSync(`${file}.new`, file);
  };
  offer(names);
  const hf = run(t, { options, flags: ['--tools-from', file] });
  await hf.initialize();
  assert.deepEqual(await hf.toolNames(), names);
  return { hf, offer };
}

// @field D8: after a restart the tools are listed again; what is gone disappears, and the client is told once
// @field X7: the list is fetched again after every reconnect
// @field B13: a name taken before the restart works after it
// @field A8: the new connection has nothing of the old one
test('a_restart_with_other_tools_is_told_exactly_once_and_old_names_still_work', async (t) => {
  const { hf, offer } = await withToolFile(t, ['alpha', 'shared', 'effect']);
  offer(['beta', 'shared', 'effect']);
  await hf.server.kill();
  await hf.waitFor(LIST_CHANGED);
  assert.deepEqual(await hf.toolNames(), ['beta', 'shared', 'effect']);
  assert.equal(textOf(await hf.call('shared', { text: 'still here' })), 'still here');
  assert.equal(textOf(await hf.call('beta', { text: 'new' })), 'new');
  assert.ok((await hf.call('alpha', { text: 'gone' })).error);
  await hf.settle();
  assert.equal(hf.count(LIST_CHANGED), 1);
  await hf.finish();
});

test('a_restart_with_the_same_tools_tells_nobody', async (t) => {
  const { hf } = await withToolFile(t, ['alpha', 'effect']);
  for (let i = 0; i < 3; i++) {
    await hf.server.kill();
    textOf(await hf.call('effect', { key: `k${i}` }));
  }
  await hf.settle();
  assert.equal(hf.count(LIST_CHANGED), 0);
  await hf.finish();
});

// @field Y8: no list_changed of a server is lost, whatever else goes on
test('a_servers_own_list_changed_is_passed_on_only_when_the_list_really_changed', async (t) => {
  const hf = await runReady(t);
  const listed = hf.server.count('got tools/list');
  textOf(await hf.call('change_tools', { same: 1 }));
  await until(() => hf.server.count('got tools/list') > listed, 'the list to be fetched again');
  textOf(await hf.call('echo', { text: 'x' }));
  await hf.settle();
  assert.equal(hf.count(LIST_CHANGED), 0);
  textOf(await hf.call('change_tools'));
  await hf.waitFor(LIST_CHANGED);
  assert.ok((await hf.toolNames()).includes('extra'));
  await hf.settle();
  assert.equal(hf.count(LIST_CHANGED), 1);
  await hf.finish();
});

// @field D9: a list fetched before a change is never kept over one fetched after it
// @field Y9: an older list is never published over a newer one
test('a_storm_of_list_changed_ends_in_the_true_list', async (t) => {
  const hf = await runReady(t);
  const storm = Array.from({ length: 31 }, () => hf.call('change_tools'));
  for (const call of storm) textOf(await call);
  await until(async () => (await hf.toolNames()).includes('extra'), 'the last word of the server');
  await hf.finish();
});

// @field Y13: all pages of a server's list are fetched
test('a_list_in_pages_is_fetched_to_its_last_page_and_given_in_one', async (t) => {
  const plain = await runReady(t);
  const names = await plain.toolNames();
  await plain.finish();
  const hf = await runReady(t, { flags: ['--page', '3'] });
  const { result } = await hf.request('tools/list', {});
  assert.deepEqual(result.tools.map((tool) => tool.name), names);
  assert.equal(result.nextCursor, undefined);
  assert.ok(hf.server.count('got tools/list') >= names.length / 3);
  await hf.finish();
});

test('a_list_over_the_page_size_is_given_in_pages_and_a_made_up_cursor_is_refused', async (t) => {
  const hf = await runReady(t, { options: ['--page-bytes', '1500'] });
  const { result } = await hf.request('tools/list', {});
  assert.equal(typeof result.nextCursor, 'string');
  const names = await hf.toolNames();
  assert.ok(names.length > result.tools.length);
  assert.equal(new Set(names).size, names.length);
  assert.equal((await hf.request('tools/list', { cursor: 'no-such-cursor' })).error.code, -32602);
  await hf.finish();
});

test('descriptions_and_schemas_pass_byte_for_byte', async (t) => {
  const hf = await runReady(t);
  const bytes = await listBytes(hf);
  assert.ok(bytes.includes('"description":"does echo, in its own \\u0077ords"'), bytes.slice(0, 400));
  assert.ok(bytes.includes('"x-limit":1.50'));
  await hf.finish();
});

test('the_first_list_waits_for_a_server_that_is_still_starting', async (t) => {
  const hf = run(t, {});
  const hello = hf.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e', version: '1' } });
  hf.notify('notifications/initialized');
  const list = hf.request('tools/list', {});
  assert.equal((await hello).result.serverInfo.name, 'effects');
  assert.deepEqual(hf.messages, [], 'nothing is said before initialize is answered');
  assert.ok((await list).result.tools.length > 10);
  await until(() => hf.server.count('got resources/templates/list'), 'the last list');
  textOf(await hf.call('echo', { text: 'x' }));
  await hf.settle();
  assert.deepEqual(hf.messages, [], 'the first list is no change');
  await hf.finish();
});

test('a_list_that_waited_in_vain_is_empty_and_corrected_when_the_server_comes', async (t) => {
  const hf = run(t, { failsStarts: true, options: [...SOON, '--list-wait-ms', '150', '--reconnect-first-attempts', '-1'] });
  await hf.initialize();
  assert.deepEqual(await hf.toolNames(), []);
  hf.server.failStarts(false);
  await hf.waitFor(LIST_CHANGED);
  assert.ok((await hf.toolNames()).includes('effect'));
  await hf.finish();
});

test('prompts_resources_and_templates_are_listed_too', async (t) => {
  const hf = await runReady(t);
  assert.deepEqual((await hf.request('prompts/list', {})).result.prompts.map((p) => p.name), ['greet']);
  assert.deepEqual((await hf.request('resources/list', {})).result.resources.map((r) => r.uri), ['effects://one', 'effects://two']);
  assert.deepEqual((await hf.request('resources/templates/list', {})).result.resourceTemplates.map((r) => r.uriTemplate), ['effects://item/{id}']);
  await hf.finish();
});
