// The very first start of `run` and `bridge` fails for good: the client is told what to do, in one line and in each
// answer, and the process ends with 1. What may pass by itself, and whatever fails later, never ends it.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { command, run, scratch } from './harness.mjs';
import { bridge } from './http_harness.mjs';

const line = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const INITIALIZE = { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e2e', version: '1' } } };
const META = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'e2e', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} } };

/** Files that cannot be started, each for another reason. */
function cabinet() {
  const dir = scratch();
  const file = (name, text, mode) => {
    fs.writeFileSync(path.join(dir, name), text);
    fs.chmodSync(path.join(dir, name), mode);
  };
  file('plain', 'no program\n', 0o644);
  file('script', '#!/no/such/interpreter\n', 0o755);
  file('good', '#!/bin/sh\ncat\n', 0o755);
  fs.mkdirSync(path.join(dir, 'folder'));
  fs.symlinkSync('round', path.join(dir, 'round'));
  return dir;
}

const ROWS = [
  ['no such command', ['run', '--', 'no-such-command'], /there is no command 'no-such-command' on PATH: install it, or give its whole path/],
  ['a PATH without it', ['run', '--env', 'PATH=/nowhere', '--', 'sh'], /there is no command 'sh' on PATH: install it/],
  ['no such file', ['run', '--', './missing'], /there is no file '\.\/missing': correct the path of the command/],
  ['a file for a folder', ['run', '--', './plain/x'], /there is no file '\.\/plain\/x': correct the path of the command/],
  ['a file that is none to execute', ['run', '--', './plain'], /'\.\/plain' is not an executable file: chmod \+x makes it one/],
  ['a directory', ['run', '--', './folder'], /'\.\/folder' is a directory: the command is a program in it/],
  ['no interpreter', ['run', '--', './script'], /'\.\/script' is there, but not what has to run it: install the interpreter/],
  ['a circle of links', ['run', '--', './round'], /the command '\.\/round': /],
  ['a whole line as one word', ['run', '--', 'npx -y server-foo'], /there is no program 'npx -y server-foo': .* on a command line: npx -y …, without quotes/],
  ['no such folder', ['run', '--cwd', './none', '--', 'sh'], /there is no directory '\.\/none' \(cwd\): make it, or correct cwd/],
  ['a file as folder', ['run', '--cwd', './plain', '--', 'sh'], /the cwd '\.\/plain': /],
  ['another name', ['run', '--name', 'mine', '--', 'no-such-command'], /The server 'mine' could not start: there is no command 'no-such-command'/],
  ['lazy', ['run', '--start', 'lazy', '--', 'no-such-command'], /there is no command 'no-such-command' on PATH/],
  ['no scheme', ['bridge', 'wiki.example.com/mcp'], /its URL: a URL begins with a scheme .*; it looks like https:\/\/HOST\/PATH/],
  ['another scheme', ['bridge', 'ftp://wiki.example.com/'], /its URL: a remote server is reached by http:\/\/ or https:\/\/ only/],
  ['an empty variable', ['bridge', ''], /its URL: it is empty; it looks like https:\/\/HOST\/PATH/],
];

for (const [what, args, says] of ROWS) {
  test(`a_first_start_that_cannot_succeed_is_told_once_and_ends_with_1: ${what}`, async () => {
    const cwd = cabinet();
    const input = line(INITIALIZE) + line({ method: 'notifications/initialized' }) + line({ id: 2, method: 'tools/list' }) + line({ id: 3, method: 'tools/call', params: { name: 'x' } });
    const done = await command(args, { cwd, input });
    assert.equal(done.code, 1, done.stderr);
    assert.equal(done.stderr.trimEnd().split('\n').length, 1, done.stderr);
    assert.match(done.stderr.replaceAll('"', "'"), new RegExp(`^\\S+Z error server=.*${says.source.replace("The server 'mine' ", '')}`));
    const answers = Object.fromEntries(done.stdout.trimEnd().split('\n').map((text) => JSON.parse(text)).map((answer) => [answer.id, answer]));
    assert.deepEqual(Object.keys(answers), ['1', '2', '3'], done.stdout);
    for (const id of [1, 2]) {
      assert.equal(answers[id].error.code, -31004);
      assert.match(answers[id].error.message, says);
      assert.equal(answers[id].error.data.dispatched, false);
    }
    assert.equal(answers[3].result._meta['dev.holdfast/outcome'].code, -31004);
    assert.match(answers[3].result.content[0].text, new RegExp(says.source.replace("The server 'mine' ", '')));
  });
}

test('a_client_that_keeps_its_pipe_open_is_told_when_it_asks_and_the_process_ends_by_itself', async (t) => {
  const hf = run(t, { command: ['no-such-command'] });
  await hf.waitForStderr(/there is no command "no-such-command"/); // it knows, and waits for somebody to tell
  const answer = await hf.request('initialize', INITIALIZE.params);
  assert.equal(answer.error.code, -31004);
  assert.deepEqual(await hf.exited, { code: 1, signal: null });
});

test('a_modern_client_is_told_in_the_answer_to_its_discovery', async () => {
  const done = await command(['run', '--', 'no-such-command'], { input: line({ id: 'd', method: 'server/discover', params: META }) });
  assert.equal(done.code, 1);
  const answer = JSON.parse(done.stdout);
  assert.equal(answer.id, 'd');
  assert.match(answer.error.message, /there is no command 'no-such-command' on PATH/);
});

test('a_client_that_falls_back_from_discovery_to_initialize_is_told_in_both_answers', async (t) => { // as Claude Code does
  const hf = run(t, { command: ['no-such-command'] });
  for (const [method, params] of [['server/discover', META], ['initialize', INITIALIZE.params]]) {
    assert.match((await hf.request(method, params)).error.message, /there is no command 'no-such-command' on PATH/);
  }
  assert.deepEqual(await hf.exited, { code: 1, signal: null });
});

test('who_asks_nothing_and_who_has_only_notifications_gets_the_line_and_1', async () => {
  for (const input of ['', line({ method: 'notifications/initialized' }), '\n']) {
    const done = await command(['run', '--', 'no-such-command'], { input });
    assert.equal(done.code, 1);
    assert.equal(done.stdout, '');
    assert.match(done.stderr, /^\S+ error server=no-such-command .*there is no command "no-such-command".*\n$/);
  }
});

test('a_json_log_has_that_line_with_its_fields', async () => {
  const done = await command(['run', '--log-format', 'json', '--', 'no-such-command'], { input: line(INITIALIZE) });
  const entry = JSON.parse(done.stderr);
  assert.deepEqual([entry.level, entry.event, entry.server, entry.generation, entry.from, entry.to], ['error', 'state', 'no-such-command', 1, 'connecting', 'permanently_failed']);
  assert.match(entry.reason, /there is no command "no-such-command" on PATH/);
});

test('a_server_that_starts_and_dies_is_no_such_end', async (t) => {
  const hf = run(t, { command: ['sh', '-c', 'exit 127'], options: ['--list-wait-ms', '200', '--reconnect-first-attempts', '-1'] });
  const answer = await hf.request('initialize', INITIALIZE.params);
  assert.equal(answer.result.serverInfo.name, 'holdfast');
  await hf.settle();
  assert.equal(hf.exit, undefined);
  await hf.finish();
});

test('a_host_that_is_not_there_is_no_such_end', async (t) => {
  const hf = bridge(t, 'http://127.0.0.1:1/mcp', { options: ['--list-wait-ms', '200'] });
  const answer = await hf.request('initialize', INITIALIZE.params);
  assert.equal(answer.result.serverInfo.name, 'holdfast');
  await hf.settle();
  assert.equal(hf.exit, undefined);
  await hf.finish();
});
