// `holdfast serve` and `holdfast bridge` as commands: what they print, what they refuse, how they reload and end.
import test from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { HOLDFAST, Holdfast, PLAIN_HOLDFAST, Server, assertOurError, command, lines, run, scratch, stdioReady, textOf, until } from './harness.mjs';
import { Gateway, bridge, httpServer, serve, writeConfig } from './http_harness.mjs';

const token = (name, more = {}) => {
  const text = `hf_${name}`;
  return { text, entry: { name, hash: `sha256:${crypto.createHash('sha256').update(text).digest('hex')}`, ...more } };
};
const pasted = (gateway) => JSON.parse(gateway.stdout.slice(gateway.stdout.indexOf('{'), gateway.stdout.lastIndexOf('}') + 1));

// ---- serve ----

test('serve_says_where_it_listens_which_endpoints_there_are_and_what_to_paste', async (t) => {
  const odd = new Server(scratch(), 'odd');
  const gateway = await serve(t, { servers: { pay: {}, 'a b/ü': { command: odd.command, args: odd.args } } });
  await until(() => gateway.stdout.includes('clients with that token are admitted.'), 'all it has to say');
  const lines = gateway.stdout.split('\n');
  assert.equal(lines[0], `listening on ${gateway.origin}`);
  assert.equal(lines[1], `  ${gateway.origin}/mcp          all servers`);
  assert.equal(lines[2], `  ${gateway.origin}/mcp/pay`);
  assert.equal(lines[3], `  ${gateway.origin}/mcp/a%20b%2F%C3%BC`);
  assert.deepEqual(pasted(gateway), { mcpServers: { holdfast: { type: 'http', url: `${gateway.origin}/mcp` } } });
  assert.match(gateway.stdout, /Every process on this machine may use these servers: there are no tokens\.\n`holdfast token` makes one/);
  for (const endpoint of ['/mcp/pay', '/mcp/a%20b%2F%C3%BC']) {
    const client = await gateway.join(endpoint);
    assert.equal(textOf(await client.call('echo', { text: endpoint })), endpoint);
  }
  await gateway.finish();
});

test('serve_with_tokens_pastes_a_header_and_warns_of_nobody', async (t) => {
  const gateway = await serve(t, { servers: { pay: {} }, holdfast: { tokens: [token('ci').entry] } });
  await until(() => gateway.stdout.trimEnd().endsWith('}'), 'all it has to say');
  assert.equal(pasted(gateway).mcpServers.holdfast.headers.Authorization, 'Bearer TOKEN');
  assert.ok(!gateway.stdout.includes('Every process'), gateway.stdout);
  await gateway.finish();
});

test('serve_refuses_an_address_that_others_can_reach_without_tokens_and_starts_nothing', async () => {
  const dir = scratch();
  const { file, known } = writeConfig(dir, { servers: { pay: {} }, holdfast: { listen: '0.0.0.0:0' } });
  const done = await command(['serve', '-c', file], { cwd: dir });
  assert.equal(done.code, 1);
  assert.equal(done.stdout, '');
  assert.match(done.stderr, /other machines can reach 0\.0\.0\.0:0, and there are no tokens.*`holdfast token`/);
  assert.deepEqual(known.pay.starts(), []);
});

test('serve_says_what_is_wrong_with_its_address', async (t) => {
  const taken = await serve(t, {});
  const { file } = writeConfig(scratch(), {});
  const busy = await command(['serve', '-c', file, '--listen', `127.0.0.1:${taken.port}`]);
  assert.equal(busy.code, 1);
  assert.match(busy.stderr, new RegExp(`holdfast serve: cannot listen on 127\\.0\\.0\\.1:${taken.port}: another process listens there\nChoose another address with --listen`));
  const wrong = await command(['serve', '-c', file, '--listen', 'example.com:80']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--listen: names are not looked up/);
  await taken.finish();
});

test('serve_listens_on_a_socket_file_that_only_its_owner_may_open', async (t) => {
  const dir = scratch();
  const socket = path.relative(process.cwd(), path.join(dir, 's')).length < 100 ? path.join(dir, 's') : `/tmp/hf-${process.pid}`;
  const gateway = new Gateway(t, { dir, listen: `unix:${socket}`, servers: { pay: {} } });
  await until(() => gateway.stdout.includes('clients with that token are admitted.') || gateway.exit, () => `it to listen: ${gateway.stderr}`);
  assert.match(gateway.stdout, new RegExp(`^listening on unix:${socket}\n  http://localhost/mcp          all servers\n`));
  assert.match(gateway.stdout, /Every process that may open the socket may use these servers/);
  assert.equal(fs.statSync(socket).mode & 0o077, 0);
  const status = await new Promise((done, fail) => {
    http.get({ socketPath: socket, path: '/healthz' }, (response) => done(response.resume().statusCode)).on('error', fail);
  });
  assert.equal(status, 200);
  await gateway.finish();
});

test('serve_reads_its_file_again_and_takes_servers_and_tokens_over', async (t) => {
  const [old, fresh] = [token('old'), token('fresh')];
  const gateway = await serve(t, { servers: { pay: {} }, holdfast: { tokens: [old.entry] } });
  const client = await gateway.join('/mcp', { token: old.text });
  assert.ok((await client.toolNames()).includes('pay__echo'));
  writeConfig(gateway.dir, { servers: { pay: {}, more: {} }, holdfast: { tokens: [old.entry, fresh.entry] } });
  gateway.child.kill('SIGHUP');
  await until(async () => (await client.toolNames()).includes('more__echo'), 'the new server');
  await gateway.waitForStderr(/ info the config was read again; added: more; unchanged: pay; tokens added: fresh\n/);
  const other = await gateway.join('/mcp', { token: fresh.text });
  assert.equal(textOf(await other.call('more__echo', { text: 'x' })), 'x');

  fs.writeFileSync(gateway.config, '{ "mcpServers": [] }');
  gateway.child.kill('SIGHUP');
  await gateway.waitForStderr(/mcpServers: found an array/);
  assert.equal(textOf(await other.call('pay__echo', { text: 'still here' })), 'still here');
  await gateway.finish();
});

test('serve_never_admits_everybody_when_a_new_file_has_lost_its_tokens', async (t) => {
  const ci = token('ci');
  const gateway = await serve(t, { servers: { pay: {} }, listen: '0.0.0.0:0', holdfast: { tokens: [ci.entry] } });
  gateway.address = '127.0.0.1';
  const client = await gateway.join('/mcp', { token: ci.text });
  writeConfig(gateway.dir, { servers: { pay: {} } });
  gateway.child.kill('SIGHUP');
  await gateway.waitForStderr(/the new file has no tokens/);
  const stranger = gateway.client('/mcp');
  const trip = stranger.request('initialize', {}).trip;
  await trip.ended;
  assert.equal(trip.status, 401);
  assert.equal(textOf(await client.call('pay__echo', { text: 'x' })), 'x');
  await gateway.finish();
});

test('serve_takes_its_servers_from_a_file_only', async () => {
  for (const args of [['x'], ['--name', 'x'], ['--', 'true'], ['--listen'], ['-x']]) {
    const done = await command(['serve', ...args]);
    assert.equal(done.code, 2, `${args.join(' ')}: ${done.stderr}`);
  }
});

test('serve_says_which_servers_are_down_and_why', async (t) => {
  const odd = new Server(scratch(), 'odd');
  const servers = {
    fine: {}, gone: { command: '/no/such/thing', args: [] }, off: { command: 'sh', args: [], disabled: true },
    dies: { command: 'sh', args: ['-c', 'printf "no key\\033[2J\\n" >&2; exit 3'] }, unset: { command: 'sh', args: ['${NOT_SET}'] },
    rests: { command: odd.command, args: odd.args, start: 'lazy' },
  };
  const gateway = await serve(t, { servers, options: ['--reconnect-first-attempts', '-1'] });
  await until(() => /unset: .*\n/.test(gateway.stdout), () => `all it has to say: ${gateway.stdout}`);
  const [, said] = gateway.stdout.split('\nnot connected:\n');
  assert.equal(said.split('\n').length, 4, said);
  assert.match(said, /^ {2}gone: (given up|down, retrying): there is no file "\/no\/such\/thing"/m);
  assert.match(said, /^ {2}dies: down, retrying: (exited with status 3|closed its stdout); its last line on stderr: no key\\x1b\[2J$/m);
  assert.match(said, /^ {2}unset: given up: .*NOT_SET/m);
  await gateway.finish();
});

// ---- bridge ----

test('bridge_gives_a_remote_server_to_a_client_that_speaks_stdio_under_its_own_names', async (t) => {
  const server = await httpServer(t, {});
  const hf = bridge(t, server.url);
  await hf.initialize();
  assert.ok((await hf.toolNames()).includes('pay'));
  assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
  assert.deepEqual(server.effects, ['k']);
  await hf.finish();
});

test('bridge_sends_its_headers_with_variables_in_them_and_never_shows_them', async (t) => {
  const server = await httpServer(t, {});
  const options = ['--headers', 'Authorization: Bearer ${SECRET}', '--header=X-Plain: a=b: c', '--headers', 'X-Pair=d: e', '--log-level', 'debug'];
  const hf = bridge(t, server.url, { options, env: { SECRET: 's3cret' } });
  await hf.initialize();
  const seen = JSON.parse(textOf(await hf.call('headers')));
  assert.equal(seen.authorization, 'Bearer s3cret');
  assert.equal(seen['x-plain'], 'a=b: c');
  assert.equal(seen['x-pair'], 'd: e');
  await hf.finish();
  assert.ok(!hf.stderr.includes('s3cret'), hf.stderr);
});

test('bridge_names_a_server_that_is_not_there_by_its_host', async (t) => {
  const hf = bridge(t, 'http://127.0.0.1:9/mcp', { options: ['--wait-ms', '0', '--list-wait-ms', '0'] });
  await hf.initialize();
  assertOurError(await hf.call('pay', { key: 'k' }), -31001, { dispatched: false, server: '127.0.0.1' });
  await hf.finish();
});

test('bridge_says_what_is_wrong_with_its_command_line', async () => {
  const rows = [
    [[], /which server\? holdfast bridge URL/],
    [['http://x', 'http://y'], /what is meant by http:\/\/y/], [['-c', 'f', 'http://x'], /takes no -c FILE/],
    [['http://x', '--header', 'x'], /a header looks like "Name: value"/], [['http://x', '--header', 'Accept: x'], /holdfast's own to set/],
    [['http://x', '--header', 'K: ${NOT_SET}'], /the variable NOT_SET is not set/], [['http://x', '--', 'true'], /which server/],
  ];
  for (const [args, says] of rows) {
    const done = await command(['bridge', ...args]);
    assert.equal(done.code, 2, `${args.join(' ')}: ${done.stderr}`);
    assert.match(done.stderr, says);
  }
});

// ---- help ----

test('help_of_each_command_says_what_it_does_with_an_example_and_its_common_options', async () => {
  const rows = { run: ['--env', '--headers'], bridge: ['--headers', '--env'], stdio: ['--config', '--listen'], serve: ['--listen', '--relist-ms'], check: ['--config', '--listen'], token: ['--name', '--wait-ms'], version: [undefined, '--wait-ms'] };
  const overview = await command(['--help']);
  for (const [name, [has, lacks]] of Object.entries(rows)) {
    assert.equal(overview.stdout.match(new RegExp(`^  ${name} +\\w`, 'gm'))?.length, 1, overview.stdout);
    const done = await command([name, '--help']);
    assert.equal(done.code, 0);
    assert.match(done.stdout, new RegExp(`^holdfast ${name}`));
    assert.match(done.stdout, new RegExp(`\nExample:\n    holdfast ${name}`));
    assert.ok(!has || done.stdout.includes(`${has} `), done.stdout);
    assert.ok(!done.stdout.includes(`\n  ${lacks} `), done.stdout);
    assert.ok((done.stdout.match(/^ {2}-/gm) ?? []).length <= 11, done.stdout);
    assert.ok(done.stdout.split('\n').every((line) => line.length <= 100), done.stdout);
    assert.deepEqual(await command(['help', name]), done);
    assert.deepEqual(await command([name, '--help=all']), await command([name, '--help', 'all']));
  }
});

test('help_all_lists_every_option_that_the_command_has_and_no_other', async () => {
  const options = async (name) => new Set((await command([name, '--help', 'all'])).stdout.match(/(?<=^ {2})--[a-z-]+/gm));
  const [run, bridge, serve] = [await options('run'), await options('bridge'), await options('serve')];
  assert.ok(serve.size > 60 && run.size > 40 && bridge.size > 40);
  for (const option of [...run, ...bridge]) assert.ok(serve.has(option) || option === '--name', option);
  assert.ok(run.has('--term-ms') && !bridge.has('--term-ms') && bridge.has('--ca') && !run.has('--ca') && !run.has('--listen'));
});

test('an_option_that_a_command_does_not_have_is_refused_with_those_that_do', async () => {
  const rows = [[['run', '--listen', 'x', '--', 'true'], /holdfast run: it has no --listen, which is for `holdfast serve`/],
    [['run', '--header', 'A: b', '--', 'true'], /it has no --headers, which is for/],
    [['run', '--headers', 'A: b', '--', 'true'], /it has no --headers, which is for `holdfast bridge` and `holdfast stdio` and `holdfast serve`/],
    [['bridge', '--cwd', '/', 'http://x'], /it has no --cwd, which is for `holdfast run`/]];
  for (const [args, says] of rows) {
    const done = await command(args);
    assert.equal(done.code, 2, done.stderr);
    assert.match(done.stderr, says);
  }
});

test('a_server_is_called_by_what_its_launcher_starts', async (t) => {
  const dir = scratch();
  const server = new Server(dir, 'weather');
  fs.mkdirSync(path.join(dir, 'weather/build'), { recursive: true });
  fs.writeFileSync(path.join(dir, 'weather/build/index.sh'), `exec "$@"\n`);
  fs.symlinkSync('/bin/sh', path.join(dir, 'node'));
  const hf = new Holdfast(t, dir, { weather: server }, HOLDFAST, ['run', '--', path.join(dir, 'node'), 'weather/build/index.sh', server.command, ...server.args], {});
  await hf.initialize();
  await hf.tools();
  await hf.waitForStderr(/ server=weather /);
  await hf.finish();
});

// ---- logs ----

test('a_json_log_has_fields_and_a_flood_on_stderr_is_summed_up', async (t) => {
  const dir = scratch();
  const server = new Server(dir, 'loud');
  const script = 'i=0; while [ $i -lt 300 ]; do printf "\\033[1mline %s\\302\\2331m\\n" $i >&2; i=$((i+1)); done; exec "$@"';
  const hf = new Holdfast(t, dir, { loud: server }, HOLDFAST, ['run', '--name', 'loud', '--log-format', 'json', '--', 'sh', '-c', script, 'sh', server.command, ...server.args], {});
  await hf.initialize();
  await hf.tools();
  await hf.finish();
  const entries = hf.stderr.trim().split('\n').map((line) => JSON.parse(line));
  assert.ok(entries.every((e) => e.time && e.level && e.event && e.message), hf.stderr);
  assert.equal(typeof entries.find((e) => e.event === 'started').pid, 'number');
  assert.ok(entries.some((e) => e.event === 'state' && e.server === 'loud' && e.to === 'connected'));
  const told = entries.filter((e) => e.event === 'stderr');
  assert.equal(told.length, 100);
  assert.equal(told[0].line, '\u001b[1mline 0\u009b1m');
  const more = entries.find((e) => e.event === 'more');
  assert.deepEqual([more.of, more.count, more.server], ['stderr', 200, 'loud']);
  assert.doesNotMatch(hf.stderr, /[\u001b\u0080-\u009f]/);
});

// ---- the log that is kept ----

const quietly = async (t, options, env = {}) => {
  const hf = run(t, { options, env });
  await hf.initialize();
  assert.equal(textOf(await hf.call('echo', { text: 'x' })), 'x');
  await hf.finish();
  return hf;
};
const mode = (file) => (fs.statSync(file).mode & 0o777).toString(8);

test('run_keeps_its_log_in_the_state_directory_whatever_stderr_shows', async (t) => {
  const hf = await quietly(t, ['--log-level', 'error']);
  assert.equal(hf.stderr, '');
  const dir = path.join(hf.dir, 'state');
  const file = path.join(dir, 'run-effects.log');
  assert.deepEqual([mode(dir), mode(file), fs.readdirSync(dir)], ['700', '600', ['run-effects.log']]);
  const kept = fs.readFileSync(file, 'utf8');
  assert.match(kept, new RegExp(`^\\[${hf.pid}\\] \\S+Z info server=`));
  assert.match(kept, /server=effects generation=1 connected; it offers \d+ tools\n/);
});

test('the_state_directory_is_chosen_by_option_file_environment_and_home_in_that_order', async (t) => {
  const dir = scratch();
  const at = (name) => path.join(dir, name);
  const find = (file) => ['a', 'b', 'x/holdfast', 'h/.local/state/holdfast'].filter((name) => fs.existsSync(path.join(at(name), file)));
  const none = { HOLDFAST_STATE_DIR: '', XDG_STATE_HOME: '', HOME: at('h') };
  const rows = [
    [['--state-dir', at('a')], { ...none, HOLDFAST_STATE_DIR: at('b') }, 'a'], [[], { ...none, HOLDFAST_STATE_DIR: at('b'), XDG_STATE_HOME: at('x') }, 'b'],
    [[], { ...none, XDG_STATE_HOME: at('x') }, 'x/holdfast'], [[], none, 'h/.local/state/holdfast'],
  ];
  for (const [options, env, where] of rows) {
    const hf = await quietly(t, options, env);
    assert.deepEqual(find('run-effects.log'), [where], hf.stderr);
    fs.rmSync(path.join(at(where), 'run-effects.log'));
  }
  const many = await stdioReady(t, { servers: { one: {} }, holdfast: { stateDir: at('a') }, options: ['--log-format', 'json'] });
  await many.finish();
  const entries = lines(path.join(at('a'), 'stdio.log')).map((line) => JSON.parse(line));
  assert.ok(entries.length > 1 && entries.every((e) => e.process === many.pid && e.event), JSON.stringify(entries));
});

test('without_a_place_for_it_no_log_is_kept_and_that_is_said_once', async (t) => {
  const nowhere = await quietly(t, [], { HOLDFAST_STATE_DIR: '', XDG_STATE_HOME: '', HOME: '' });
  assert.equal(nowhere.countStderr('no log is kept in a file: there is no HOME to keep anything in; --state-dir DIRECTORY'), 1, nowhere.stderr);
  const refused = await quietly(t, ['--state-dir', '/proc/none']);
  assert.equal(refused.countStderr('no log is kept in a file: the state directory cannot be made: "/proc/none"'), 1, refused.stderr);
});

// ---- the program itself ----

// As a user who is not root: to root everything in /proc is readable anyway.
test('other_processes_of_the_same_user_cannot_read_its_memory_but_its_servers_are_as_ever', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-'));
  const program = path.join(dir, 'holdfast');
  t.after(() => fs.rmSync(dir, { recursive: true }));
  fs.copyFileSync(PLAIN_HOLDFAST, program);
  fs.chmodSync(dir, 0o755);
  fs.chmodSync(program, 0o755);
  const uid = process.getuid() || 65534;
  const ownerOf = (pid) => fs.statSync(`/proc/${pid}/environ`).uid;
  const child = (env) => {
    const hf = spawn(program, ['run', '--', 'sh', '-c', 'echo $$ >&2; exec cat'], { cwd: dir, uid, gid: uid, env: { PATH: process.env.PATH, HOME: dir, ...env } });
    let stderr = '';
    hf.stderr.on('data', (chunk) => { stderr += chunk; });
    t.after(() => hf.kill('SIGKILL'));
    return until(() => stderr.match(/stderr: (\d+)/), () => `the server to start: ${stderr}`).then((hit) => ({ hf, server: Number(hit[1]) }));
  };
  const { hf, server } = await child({});
  assert.equal(ownerOf(hf.pid), 0, 'nobody but root may look into it');
  assert.equal(ownerOf(server), uid, 'its server is like any other process');
  const debugged = await child({ HOLDFAST_DUMPABLE: '1' });
  assert.equal(ownerOf(debugged.hf.pid), uid);
});
