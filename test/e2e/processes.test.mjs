// Processes: who dies with whom, in which order, and what is answered before the end.
import test from 'node:test';
import assert from 'node:assert/strict';
import { EFFECTS, HOLDFAST, Server, assertOurError, command, isAlive, isGone, killNow, run, runReady, scratch, textOf, until } from './harness.mjs';

async function withGrandchild(hf, hold) {
  textOf(await hf.call('spawn_grandchild', { hold }));
  const [pid] = await until(() => hf.server.grandchildren().length && hf.server.grandchildren(), 'the grandchild');
  return pid;
}

// @field X9: the whole tree goes, not only the direct child
test('a_killed_holdfast_takes_a_deaf_setsid_grandchild_with_it', async (t) => {
  const hf = await runReady(t, { flags: ['--hang-close'] });
  const grandchild = await withGrandchild(hf, 'ioe');
  killNow(hf.pid);
  await until(() => isGone(grandchild), 'the grandchild to be gone');
  await hf.assertNoOrphans();
});

// @field B19: a child never outlives its connection
test('a_client_that_leaves_ends_the_whole_tree', async (t) => {
  const hf = await runReady(t, { options: ['--close-ms', '100', '--term-ms', '100'], flags: ['--hang-close'] });
  const grandchild = await withGrandchild(hf, 'ioe');
  assert.ok(isAlive(grandchild));
  await hf.finish();
  assert.ok(isGone(grandchild));
});

test('a_grandchild_that_holds_the_pipes_of_a_dead_server_delays_nobody_for_long', async (t) => {
  const hf = await runReady(t, { options: ['--reconnect-min-ms', '0', '--eof-ms', '200'] });
  const grandchild = await withGrandchild(hf, 'ioe');
  const old = hf.server.pid();
  assertOurError(await hf.call('effect_then_die', { key: 'dies' }), -31002);
  assert.notEqual(Number(textOf(await hf.call('effect', { key: 'next' }))), old);
  await until(() => isGone(grandchild), 'the grandchild to be gone with its server');
  assert.deepEqual(hf.server.effects(), ['dies', 'next']);
  await hf.finish();
});

// @field Y16: its stdin is closed first, then it is terminated, then killed; the times are settings
// @field B19: asked, then told, then killed, then reaped | DESIGN 5: stdin closed, TERM, KILL; no INT
test('a_server_is_asked_to_leave_by_end_of_file_first', async (t) => {
  const hf = await runReady(t);
  await hf.finish();
  assert.equal(hf.server.count('eof'), 1);
});

test('a_server_deaf_to_end_of_file_and_term_is_killed_in_the_set_time', async (t) => {
  const hf = await runReady(t, { options: ['--close-ms', '100', '--term-ms', '100'], flags: ['--hang-close'] });
  const began = Date.now();
  await hf.finish();
  assert.equal(hf.server.count('eof'), 1);
  assert.ok(Date.now() - began < 5000, `it took ${Date.now() - began} ms`);
});

test('everything_read_before_end_of_file_is_answered_first', async (t) => {
  const hf = run(t, {});
  const hello = hf.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e', version: '1' } });
  hf.notify('notifications/initialized');
  const slow = hf.call('slow', { ms: 300, key: 'slow' });
  const quick = hf.call('effect', { key: 'quick' });
  const list = hf.request('tools/list', {});
  hf.end();
  assert.ok((await hello).result);
  textOf(await slow);
  textOf(await quick);
  assert.ok((await list).result.tools.length > 10);
  await hf.finish();
  assert.equal(hf.server.effects().length, 2);
});

test('a_dispatched_call_has_the_drain_time_after_end_of_file_and_then_its_evidence_decides', async (t) => {
  const hf = await runReady(t, { options: ['--drain-ms', '200'] });
  const never = hf.call('swallow', { key: 'never' });
  hf.end();
  assertOurError(await never, -31002, { dispatched: true });
  await hf.finish();
});

test('a_printf_into_holdfast_run_is_answered', async () => {
  const dir = scratch();
  const server = new Server(dir);
  const input = [
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"printf","version":"0"}}}',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"effect","arguments":{"key":"k"}}}',
    '{"jsonrpc":"2.0","id":3,"method":"tools/list"}',
  ].join('\n');
  const done = await command(['run', '--', EFFECTS, ...server.args], { input: `${input}\n`, cwd: dir });
  const answers = done.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  assert.deepEqual(answers.filter((a) => a.result).map((a) => a.id).sort(), [1, 2, 3], done.stdout + done.stderr);
  assert.equal(answers.length, 3, `nothing but the answers: ${done.stdout}`);
  assert.equal(answers.find((a) => a.id === 1).result.protocolVersion, '2025-06-18');
  assert.deepEqual([done.code, done.signal], [0, null], done.stderr);
  assert.equal(server.effects('k'), 1);
});

test('a_last_line_without_newline_is_a_request_too', async () => {
  const dir = scratch();
  const server = new Server(dir);
  const input = '{"jsonrpc":"2.0","id":"only","method":"ping"}';
  const done = await command(['run', '--', EFFECTS, ...server.args], { input, cwd: dir });
  assert.match(done.stdout, /"id":"only"/);
  assert.equal(done.code, 0);
});

// @field D5: a shutdown wakes those who wait
test('sigterm_answers_waiting_calls_now_and_lets_dispatched_ones_finish', async (t) => {
  const hf = await runReady(t, { options: ['--max-in-flight', '1'] });
  const slow = hf.call('slow', { ms: 400, key: 'slow' });
  const waiting = hf.call('effect', { key: 'waiting' });
  await until(() => hf.server.count('slow slow') === 1, 'the slow call to be dispatched');
  killNow(hf.pid, 'SIGTERM');
  assertOurError(await waiting, -31001, { dispatched: false });
  textOf(await slow);
  await hf.finish();
  assert.deepEqual(hf.server.effects(), ['slow']);
});

// @field Y10: no attempt that ends late brings a server back after the end
test('sigterm_while_the_server_is_down_answers_waiting_calls_and_ends', async (t) => {
  const hf = await runReady(t, { options: ['--reconnect-min-ms', '100', '--reconnect-max-ms', '100'] });
  hf.server.failStarts();
  await hf.server.kill();
  const waiting = hf.call('effect', { key: 'waiting' });
  await hf.settle();
  killNow(hf.pid, 'SIGTERM');
  assertOurError(await waiting, -31001, { dispatched: false });
  await hf.finish();
});

test('a_second_sigterm_ends_at_once', async (t) => {
  const hf = await runReady(t, { options: ['--drain-ms', '600000'] });
  const never = hf.call('swallow', { key: 'never' });
  await until(() => hf.server.effects('never') === 1, 'the call to be dispatched');
  await until(() => {
    if (!hf.exit) hf.child.kill('SIGTERM'); // again and again: two that meet count as one
    return hf.exit;
  }, 'the end');
  const answer = await never.catch(() => null); // it may end with the connection; if it is answered, truthfully
  if (answer) assertOurError(answer, -31002, { dispatched: true });
  await hf.assertNoOrphans();
});

test('a_client_that_no_longer_reads_ends_holdfast', async (t) => {
  const hf = await runReady(t);
  hf.child.stdout.destroy();
  hf.send({ jsonrpc: '2.0', id: 1000, method: 'ping' });
  hf.end();
  await hf.exitWithin();
  await hf.assertNoOrphans();
});

test('what_a_server_says_on_stderr_is_in_our_log_and_cannot_forge_it', async (t) => {
  const hf = await runReady(t);
  textOf(await hf.call('complain', { text: 'oh no \u001b[31mred \u0007' }));
  const line = await until(() => hf.stderr.split('\n').find((l) => l.includes('oh no')), 'the complaint');
  assert.match(line, /server=effects/);
  assert.ok(!line.includes('\u001b') && !line.includes('\u0007'), JSON.stringify(line));
  await hf.finish();
});

// @field D6: one death is one death: never two new processes for it
test('kills_in_quick_succession_never_leave_two_processes', async (t) => {
  const hf = await runReady(t, { options: ['--reconnect-min-ms', '0'] });
  for (let i = 0; i < 15; i++) {
    const pid = hf.server.pid();
    if (isAlive(pid)) killNow(pid);
    await until(() => hf.server.pid() !== pid, 'the next process');
  }
  textOf(await hf.call('effect', { key: 'end' }));
  await until(() => hf.server.pids().filter(isAlive).length === 1, 'one process');
  await hf.finish();
});

test('help_of_every_command_names_the_options', async () => {
  for (const args of [['run', '--help'], ['stdio', '--help'], ['check', '--help', 'all']]) {
    const done = await command(args, { program: HOLDFAST });
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /--wait-ms/, args.join(' '));
  }
});
