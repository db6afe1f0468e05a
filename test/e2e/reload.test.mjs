// Reload: SIGHUP reads the file again and touches only what changed.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { isGone, scratch, stdioReady, textOf, until } from './harness.mjs';

const LIST_CHANGED = 'notifications/tools/list_changed';

function edit(dir, change) {
  const file = path.join(dir, 'config.json');
  const config = JSON.parse(fs.readFileSync(file, 'utf8'));
  change(config.mcpServers, config);
  fs.writeFileSync(file, JSON.stringify(config));
}

test('a_reload_restarts_what_changed_removes_what_is_gone_and_leaves_the_rest_alone', async (t) => {
  const dir = scratch();
  const hf = await stdioReady(t, { dir, servers: { same: {}, other: {}, gone: {} } });
  assert.ok((await hf.toolNames()).includes('gone__effect'));
  const [same, other, gone] = ['same', 'other', 'gone'].map((name) => hf.servers[name].pid());
  edit(dir, (servers) => {
    servers.other.env = { ...servers.other.env, NEW: '1' };
    delete servers.gone;
  });
  hf.child.kill('SIGHUP');
  await until(() => isGone(gone) && isGone(other), 'the removed and the changed one to go');
  await until(() => hf.servers.other.pid() !== other, 'the changed one to be started anew');
  textOf(await hf.call('other__effect', { key: 'a' }));
  textOf(await hf.call('same__effect', { key: 'b' }));
  assert.equal(hf.servers.same.pid(), same);
  assert.equal((await hf.call('gone__effect', {})).error.code, -32602);
  assert.ok(!(await hf.toolNames()).includes('gone__effect'));
  await hf.finish();
});

test('a_reload_that_only_changes_names_restarts_nothing_and_is_told', async (t) => {
  const dir = scratch();
  const hf = await stdioReady(t, { dir, servers: { one: {} } });
  await hf.toolNames();
  const pid = hf.servers.one.pid();
  edit(dir, (servers) => { servers.one.rename = { effect: 'pay' }; });
  hf.child.kill('SIGHUP');
  await hf.waitFor(LIST_CHANGED);
  assert.ok((await hf.toolNames()).includes('one__pay'));
  textOf(await hf.call('one__pay', { key: 'k' }));
  assert.deepEqual([hf.servers.one.effects(), hf.servers.one.pid()], [['k'], pid]);
  await hf.finish();
});

test('a_reload_says_by_name_what_it_changed', async (t) => {
  const dir = scratch();
  const hf = await stdioReady(t, { dir, servers: { same: {}, waits: {}, gone: {} }, options: ['--log-format', 'json'] });
  edit(dir, (servers) => {
    servers.waits.waitMs = 1234;
    servers.fresh = { ...servers.same, args: [...servers.same.args], start: 'lazy' };
    delete servers.gone;
  });
  hf.child.kill('SIGHUP');
  const entry = await until(() => hf.stderr.split('\n').filter((line) => line.includes('"reloaded"')).map((line) => JSON.parse(line))[0], 'the line');
  assert.deepEqual([entry.level, entry.added, entry.removed, entry.changed, entry.unchanged], ['info', 'fresh', 'gone', 'waits', 'same']);
  assert.equal(entry.message, 'the config was read again; added: fresh; removed: gone; changed: waits; unchanged: same');
  await hf.finish();
});

test('a_reload_of_a_broken_file_changes_nothing_and_says_why', async (t) => {
  const dir = scratch();
  const hf = await stdioReady(t, { dir, servers: { one: {} } });
  const pid = hf.servers.one.pid();
  fs.writeFileSync(path.join(dir, 'config.json'), '{ "mcpServers": { "one": ');
  hf.child.kill('SIGHUP');
  await hf.waitForStderr(/config\.json.*line 1/);
  textOf(await hf.call('one__effect', { key: 'k' }));
  assert.equal(hf.servers.one.pid(), pid);
  await hf.finish();
});
