// `holdfast bridge` as a command: whom it serves, what it sends, what it refuses.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, command, textOf } from './harness.mjs';
import { bridge, httpServer } from './http_harness.mjs';

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
  const options = ['--header', 'Authorization: Bearer ${SECRET}', '--header=X-Plain: a=b: c', '--log-level', 'debug'];
  const hf = bridge(t, server.url, { options, env: { SECRET: 's3cret' } });
  await hf.initialize();
  const seen = JSON.parse(textOf(await hf.call('headers')));
  assert.equal(seen.authorization, 'Bearer s3cret');
  assert.equal(seen['x-plain'], 'a=b: c');
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
    [[], /which server\? holdfast bridge URL/], [['ftp://x'], /http:\/\/ or https:\/\/ only/], [['x.test'], /begins with a scheme/],
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
