// The test server without holdfast: what the other suites believe about it is true.
import test from 'node:test';
import assert from 'node:assert/strict';
import { EFFECTS, Peer, Server, isAlive, scratch, textOf, until } from './harness.mjs';

function direct(t, flags = []) {
  const server = new Server(scratch(), 'effects', flags);
  const peer = new Peer(EFFECTS, server.args);
  t.after(() => peer.exit ?? peer.child.kill('SIGKILL'));
  return { server, peer };
}

test('the_test_server_speaks_the_protocol_and_logs_each_effect_once', async (t) => {
  const { server, peer } = direct(t);
  const hello = await peer.initialize({ version: '2024-11-05' });
  assert.equal(hello.protocolVersion, '2024-11-05');
  assert.ok((await peer.toolNames()).includes('effect_then_die'));
  assert.equal(textOf(await peer.call('effect', { key: 'k1' })), String(peer.pid));
  assert.deepEqual(server.effects(), ['k1']);
  assert.equal((await peer.request('prompts/get', { name: 'greet', arguments: { who: 'you' } })).result.messages[0].content.text, 'you');
  assert.match((await peer.request('resources/read', { uri: 'effects://one' })).result.contents[0].text, /read by/);
  assert.equal((await peer.request('resources/read', { uri: 'else://one' })).error.code, -32002);
  assert.equal((await peer.request('no/such')).error.code, -32601);
  peer.end();
  assert.deepEqual(await peer.exitWithin(), { code: 0, signal: null });
});

test('the_test_server_lists_page_by_page_and_only_the_tools_it_was_given', async (t) => {
  const { peer } = direct(t, ['--page', '4']);
  await peer.initialize();
  const first = await peer.request('tools/list', {});
  assert.equal(first.result.tools.length, 4);
  assert.ok((await peer.toolNames()).length > 20);
  peer.end();
  await peer.exitWithin();
});

test('the_test_server_dies_after_the_armed_number_of_bytes_and_a_stream_reader_has_run_by_then', async (t) => {
  for (const [short, effects] of [[2, 0], [1, 1], [0, 1]]) {
    const { server, peer } = direct(t, ['--read', 'stream', '--bare']);
    await peer.initialize();
    await peer.call('echo', {});
    const line = '{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"effect","arguments":{"key":"k"}}}\n';
    server.arm(line.length - short);
    peer.send(line);
    assert.equal((await peer.exitWithin()).signal, 'SIGKILL');
    assert.equal(server.effects('k'), effects, `died ${short} bytes before the end`);
    assert.deepEqual(peer.strays, []);
  }
});

test('the_test_server_forgets_a_cancelled_call_and_answers_the_others', async (t) => {
  const { server, peer } = direct(t);
  await peer.initialize();
  const kept = peer.call('slow', { ms: 50, key: 'kept' });
  peer.send({ jsonrpc: '2.0', id: 'gone', method: 'tools/call', params: { name: 'slow', arguments: { ms: 20, key: 'gone' } } });
  peer.notify('notifications/cancelled', { requestId: 'gone' });
  textOf(await kept);
  assert.deepEqual(server.effects(), ['kept']);
  assert.equal(server.count('cancelled gone'), 1);
});

test('the_test_servers_grandchild_outlives_it_and_everybody_would_notice', async (t) => {
  const { server, peer } = direct(t);
  await peer.initialize();
  await peer.call('spawn_grandchild', { hold: '' });
  const [pid] = await until(() => server.grandchildren().length && server.grandchildren(), 'the grandchild');
  peer.end();
  await peer.exitWithin();
  process.kill(pid, 'SIGTERM');
  assert.ok(isAlive(pid));
  process.kill(pid, 'SIGKILL');
  await until(() => !isAlive(pid), 'the grandchild to die');
});

test('the_test_server_puts_the_id_of_a_big_result_where_it_is_told', async (t) => {
  const { peer } = direct(t);
  await peer.initialize();
  for (const id of ['first', 'last', 'nested']) {
    assert.equal(textOf(await peer.call('big', { bytes: 3000000, id })).length, 3000000);
  }
  const nested = peer.call('big', { bytes: 9, id: 'nested' });
  await nested;
  assert.match(peer.rawAnswers.get(String(nested.id)), /^\{"jsonrpc":"2.0","result":\{"id":1,.*"id":\d+\}$/);
});
