// `holdfast check -c FILE`: every mistake with its line and what to do, before anything is started.
import test from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { EFFECTS, command, scratch } from './harness.mjs';

async function check(text, env = {}) {
  const dir = scratch();
  const file = path.join(dir, 'config.json');
  fs.writeFileSync(file, typeof text === 'string' ? text : JSON.stringify(text, null, 2));
  const done = await command(['check', '-c', file], { cwd: dir, env });
  return { ...done, said: done.stdout + done.stderr };
}
const good = { command: EFFECTS };

test('a_good_file_passes', async () => {
  const done = await check({ mcpServers: { one: good }, holdfast: { log: { level: 'debug' } } });
  assert.equal(done.code, 0, done.said);
});

test('a_syntax_error_is_reported_with_its_line', async () => {
  const done = await check('{\n  "mcpServers": {\n    "one": { "command": }\n  }\n}\n');
  assert.equal(done.code, 1);
  assert.match(done.said, /line 3|:3\b/);
});

test('a_wrong_type_is_reported_with_line_and_key', async () => {
  const done = await check('{\n  "mcpServers": {\n    "one": { "command": "x",\n      "waitMs": "soon" }\n  }\n}\n');
  assert.equal(done.code, 1);
  assert.match(done.said, /waitMs/);
  assert.match(done.said, /line 4|:4\b/);
});

test('an_unknown_key_of_ours_is_refused_with_a_suggestion', async () => {
  const done = await check({ mcpServers: { one: good }, holdfast: { maxMessageByte: 1 } });
  assert.equal(done.code, 1);
  assert.match(done.said, /maxMessageByte\b/);
  assert.match(done.said, /maxMessageBytes/);
});

test('a_near_miss_of_a_servers_key_is_refused_with_a_suggestion', async () => {
  const done = await check({ mcpServers: { one: { ...good, waitMS: 5 } } });
  assert.equal(done.code, 1);
  assert.match(done.said, /waitMS/);
  assert.match(done.said, /waitMs/);
});

test('a_duplicate_server_is_refused', async () => {
  const done = await check('{ "mcpServers": {\n "one": { "command": "true" },\n "one": { "command": "false" } } }');
  assert.equal(done.code, 1);
  assert.match(done.said, /one/);
  assert.match(done.said, /line 3|:3\b/);
});

test('two_names_with_one_prefix_are_refused', async () => {
  const done = await check({ mcpServers: { 'a b': good, 'a.b': good } });
  assert.equal(done.code, 1);
  assert.match(done.said, /"a b" and "a\.b"/);
});

test('a_missing_command_variable_or_directory_is_reported_per_server', async () => {
  const done = await check({ mcpServers: { gone: { command: '/no/such/thing' }, unset: { command: '${NOT_SET}' }, lost: { ...good, cwd: '/no/such/dir' }, fine: good } });
  assert.equal(done.code, 1);
  for (const word of ['gone', '/no/such/thing', 'unset', 'NOT_SET', 'lost', '/no/such/dir']) assert.ok(done.said.includes(word), `${word} in ${done.said}`);
});

test('keys_of_known_clients_are_no_mistake', async () => {
  const done = await check({ mcpServers: { one: { ...good, type: 'stdio', autoApprove: [], alwaysAllow: [] } }, inputs: [], theme: 'dark' });
  assert.equal(done.code, 0, done.said);
});

test('every_error_of_a_file_and_of_its_servers_is_told_in_one_run', async () => {
  const done = await check('{\n "mcpServers": {\n  "one": { "command": "sh", "waitMs": "soon" },\n  "two": { "command": "sh", "idelMs": 5 },\n  "gone": { "command": "/no/such/thing" },\n  "fine": { "command": "sh" }\n },\n "holdfast": { "maxDepth": 1 }\n}');
  assert.equal(done.code, 1);
  assert.equal(done.stderr, '');
  assert.deepEqual(done.stdout.split('\n').slice(1).map((line) => line.replace(/(: found|: there is no|: cannot start).*/, '$1')), [
    'error: line 3: mcpServers.one.waitMs: found', 'error: line 4: mcpServers.two.idelMs: there is no', 'error: line 8: holdfast.maxDepth: found',
    'one: cannot start', 'two: cannot start', 'gone: cannot start', 'fine: ok',
    'no server of this file starts until the lines that say "error" are mended', '']);
});

test('the_other_commands_tell_the_first_error_and_where_the_rest_is', async () => {
  const dir = scratch();
  const file = path.join(dir, 'config.json');
  fs.writeFileSync(file, '{ "mcpServers": { "a": { "waitMS": 1,\n "idelMs": 1 } } }');
  const done = await command(['stdio', '-c', file], { cwd: dir });
  assert.equal(done.code, 1);
  assert.match(done.stderr, /line 1: mcpServers\.a\.waitMS: .* \(and 1 more; `holdfast check FILE` tells them all\)/);
});

test('each_finding_says_what_to_do', async () => {
  const server = (keys) => ({ mcpServers: { one: { command: 'sh', ...keys } } });
  const rows = [
    [{ mcpServers: {} }, 0, /warning: there is no server in "mcpServers"; one looks like "files": \{ "command": "npx"/],
    [server({ command: 'npx -y @scope/foo' }), 1, /one: cannot start: .*"command": "npx", "args": \["-y", …\]/],
    [server({ command: '/opt/my tool --flag' }), 1, /"command": "\/opt\/my", "args": \["tool", …\]/],
    [server({ env: { K: '${input:key}' } }), 1, /one: cannot start: env\.K: \$\{input:…\} asks a person.*write \$\{NAME\}/],
    [server({ cwd: '${workspaceFolder}' }), 1, /cwd: \$\{workspaceFolder\} is known to VS Code only: write the path/],
    [server({ envFile: '.env' }), 0, /warning: line \d+: mcpServers\.one\.envFile: .*put its variables into "env"/],
    ['// mine\n{ "mcpServers": { "one": { "command": "sh", /* x */ "args": ["a",], }, }, }', 0, /^one: ok$/m],
    ['{ "mcpServers": { "one": { "command": "sh" } } /* }', 1, /line 1, column 48: .*close it with \*\//],
    ['{ "servers": { "one": { "command": "sh" } } }', 0, /^one: ok$/m],
  ];
  for (const [text, code, says] of rows) {
    const done = await check(text);
    assert.match(done.said, says);
    assert.equal(done.code, code, done.said);
  }
});

test('a_program_with_a_space_in_its_name_is_found', async () => {
  const dir = scratch();
  const program = path.join(dir, 'my server');
  fs.copyFileSync('/bin/true', program);
  const done = await check({ mcpServers: { one: { command: program } } });
  assert.equal(done.code, 0, done.said);
});

test('check_takes_its_file_with_or_without_c', async () => {
  const dir = scratch();
  fs.writeFileSync(path.join(dir, 'f.json'), '{ "mcpServers": { "one": { "command": "sh" } } }');
  for (const args of [['check', 'f.json'], ['check', '-c', 'f.json'], ['check', '--config=f.json']]) {
    const done = await command(args, { cwd: dir });
    assert.deepEqual([done.code, done.stdout], [0, 'f.json\none: ok\n'], done.stderr);
  }
});

test('what_a_terminal_would_obey_is_escaped', async () => {
  const done = await check({ mcpServers: { 'a\u001b[2J\u009b1m\u202eb': good } });
  assert.match(done.stdout, /^a\\x1b\[2J\\u009b1m\\u202eb: ok$/m);
});

test('a_mistyped_command_or_option_is_told_what_was_meant', async () => {
  const rows = [
    [['sevre'], /there is no command "sevre"; did you mean `holdfast serve`\?/], [['chek'], /did you mean `holdfast check`\?/],
    [['frobnicate'], /`holdfast --help` lists them/], [['run', '--wait-mss', '5', '--', 'true'], /there is no option --wait-mss; did you mean --wait-ms\?/],
    [['run', '--wait-mss'], /did you mean --wait-ms\?/], [['run', '--nam', 'x', '--', 'true'], /there is no option --nam; did you mean --name\?/],
    [['run', '--wait', '5', '--', 'true'], /there is no option --wait; did you mean --wait-ms\? `holdfast run --help` tells more/],
    [['serve', '--port', '80'], /there is no option --port; did you mean --listen 127\.0\.0\.1:PORT\?\n/], [['run', '--port', '80'], /there is no option --port; `holdfast run/],
    [['bridge', '--timeout', '5', 'http://x'], /did you mean --call-timeout-ms\?/], [['run', '--verbose', '--', 'true'], /did you mean --log-level debug\?/],
    [['--halp'], /did you mean `holdfast --help`\?/], [['--vesion'], /did you mean `holdfast version`\?/], [['help', 'serv'], /there is no command "serv"; did you mean `holdfast serve`\?/],
    [['run', 'true'], /what is meant by true\? The command comes after --, as in holdfast run -- CMD ARGS…/],
    [['serve', '--confg', 'x'], /did you mean --config\?/], [['run', '--frobnicate', '1', '--', 'true'], /there is no option --frobnicate; `holdfast run --help` tells more/],
  ];
  for (const [args, says] of rows) {
    const done = await command(args);
    assert.equal(done.code, 2, `${args.join(' ')}: ${done.stderr}`);
    assert.match(done.stderr, says);
  }
});

test('a_file_that_is_not_there_is_named', async () => {
  const done = await command(['check', '-c', '/no/such/file.json']);
  assert.equal(done.code, 1);
  assert.match(done.stderr + done.stdout, /\/no\/such\/file\.json/);
});

test('stdio_refuses_a_broken_file_whole_and_says_why', async () => {
  const dir = scratch();
  const file = path.join(dir, 'config.json');
  fs.writeFileSync(file, '{ "mcpServers": [] }');
  const done = await command(['stdio', '-c', file], { cwd: dir });
  assert.equal(done.code, 1);
  assert.match(done.stderr, /mcpServers/);
});

test('wrong_usage_is_exit_2', async () => {
  for (const args of [['run'], ['run', '--'], ['run', '--no-such-option', '--', 'true'], ['run', '--wait-ms', 'soon', '--', 'true'], ['check', '--frobnicate'], ['check', 'x', 'y'], ['check', 'x', '-c', 'y'], ['stdio', 'x'], ['run', 'x', '--', 'true']]) {
    const done = await command(args);
    assert.equal(done.code, 2, `${args.join(' ')}: ${done.stderr}`);
    assert.ok(done.stderr.length > 10);
  }
});

test('secrets_in_the_file_are_never_printed', async () => {
  const done = await check({ mcpServers: { one: { ...good, env: { TOKEN: 's3cret' }, cwd: '/no/such/dir' } } });
  assert.ok(!done.said.includes('s3cret'), done.said);
});

test('a_remote_server_is_named_by_its_host_and_never_by_its_secrets', async () => {
  const servers = {
    wiki: { url: 'https://wiki.example.com:8443/s3cret/mcp?key=s3cret', headers: { Authorization: 'Bearer ${SECRET}' }, proxy: 'http://me:s3cret@proxy.test:3128' },
    old: { type: 'sse', serverUrl: 'http://old.example.com/sse', disabled: true },
  };
  const done = await check({ mcpServers: servers }, { SECRET: 's3cret' });
  assert.equal(done.code, 0, done.said);
  assert.match(done.stdout, /^wiki: ok, https:\/\/wiki\.example\.com:8443$/m);
  assert.match(done.stdout, /^old: disabled, http:\/\/old\.example\.com$/m);
  assert.ok(!done.said.includes('s3cret'), done.said);
});

test('what_is_wrong_with_a_remote_server_is_its_own_problem', async () => {
  const servers = {
    both: { ...good, url: 'https://a.test' }, ftp: { url: 'ftp://a.test' }, unset: { url: 'https://a.test', headers: { K: '${NOT_SET}' } },
    broken: { url: 'https://a.test', headers: { K: '${SECRET}' } }, lost: { url: 'https://a.test', ca: '/no/such/ca.pem' }, fine: { url: 'https://a.test' },
  };
  const done = await check({ mcpServers: servers }, { SECRET: 's3cret\n' });
  assert.equal(done.code, 1);
  assert.match(done.stdout, /^both: cannot start: .*a command and a url/m);
  assert.match(done.stdout, /^ftp: cannot start: .*https:\/\/ only/m);
  assert.match(done.stdout, /^unset: cannot start: headers\.K: .*NOT_SET/m);
  assert.match(done.stdout, /^broken: cannot start: headers\.K: .*line break/m);
  assert.match(done.stdout, /^lost: cannot start: the CA file "\/no\/such\/ca\.pem": No such file/m);
  assert.match(done.stdout, /^fine: ok, https:\/\/a\.test$/m);
  assert.ok(!done.said.includes('s3cret'), done.said);
});

test('a_header_of_ours_refuses_the_file_with_its_line', async () => {
  const done = await check('{ "mcpServers": { "a": { "url": "https://a.test",\n "headers": { "Mcp-Session-Id": "1" } } } }');
  assert.equal(done.code, 1);
  assert.match(done.said, /line 2: mcpServers\.a\.headers\.Mcp-Session-Id: this header is holdfast's own/);
});

test('a_plain_token_in_the_file_is_refused_and_not_shown', async () => {
  for (const token of ['s3cret', { name: 'ci', token: 's3cret' }, { name: 'ci', hash: 's3cret' }]) {
    const done = await check({ mcpServers: {}, holdfast: { tokens: [token] } });
    assert.equal(done.code, 1);
    assert.match(done.said, /`holdfast token` makes a token/);
    assert.ok(!done.said.includes('s3cret'), done.said);
  }
});

test('an_address_that_others_can_reach_needs_tokens', async () => {
  const open = await check({ mcpServers: {}, holdfast: { listen: '0.0.0.0:7332' } });
  assert.equal(open.code, 1);
  assert.match(open.said, /other machines can reach 0\.0\.0\.0:7332, and there are no tokens/);
  const guarded = await check({ mcpServers: {}, holdfast: { listen: '0.0.0.0:7332', tokens: [{ name: 'ci', hash: `sha256:${'0'.repeat(64)}` }] } });
  assert.equal(guarded.code, 0, guarded.said);
});

test('a_new_token_is_printed_once_with_an_entry_that_the_file_takes', async () => {
  const made = await command(['token', '--name', 'ci']);
  assert.equal(made.code, 0, made.stderr);
  const [token] = made.stdout.split('\n');
  assert.match(token, /^hf_[0-9a-f]{64}$/);
  assert.equal(made.stdout.split(token).length, 2, 'shown once');
  const entry = JSON.parse(made.stdout.trim().split('\n').at(-1));
  assert.deepEqual(entry, { name: 'ci', hash: `sha256:${crypto.createHash('sha256').update(token).digest('hex')}` });
  const done = await check({ mcpServers: {}, holdfast: { listen: '0.0.0.0:7332', tokens: [entry] } });
  assert.equal(done.code, 0, done.said);
  const other = await command(['token']);
  assert.notEqual(other.stdout.split('\n')[0], token);
});

test('a_token_takes_a_name_and_nothing_else', async () => {
  assert.equal((await command(['token', 'x'])).code, 2);
  assert.equal((await command(['token', '--wait-ms', '5'])).code, 2);
  const done = await command(['token', '--name', 'a b']);
  assert.equal(done.code, 1);
  assert.match(done.stderr, /the name of a token has 1 to 64/);
});

test('isolation_by_session_is_warned_of_because_modern_clients_have_none', async () => {
  const done = await check({ mcpServers: { one: { ...good, isolation: 'session' }, two: good } });
  assert.equal(done.code, 0, done.said);
  assert.match(done.said, /warning: one: .*2026-07-28/);
  assert.doesNotMatch(done.said, /warning: two/);
});

test('what_check_warns_of_is_also_in_the_log_of_the_others', async () => {
  const dir = scratch();
  const file = path.join(dir, 'config.json');
  fs.writeFileSync(file, JSON.stringify({ mcpServers: { one: { ...good, envFile: '.env' } } }));
  const done = await command(['stdio', '-c', file], { cwd: dir });
  assert.match(done.stderr, / warn line 1: mcpServers\.one\.envFile: .*put its variables into "env"/);
});
