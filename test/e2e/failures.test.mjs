// failures.test.mjs - how a tool call that failed on the way is told to its client: as a result, in the same words and with
// the same facts over every transport and in both eras, because some clients answer an error with the same call once more.
import test from 'node:test';
import assert from 'node:assert/strict';
import { runReady } from './harness.mjs';
import { bridge, serve } from './http_harness.mjs';

const OUTCOME = 'dev.holdfast/outcome';
const META = 'io.modelcontextprotocol/';
const FAST = { reconnect: { minMs: 0 } };

/** The answer as it came, whatever a harness reads out of it. */
function assertIsResult(answer, code, { isModern = false } = {}) {
  const raw = JSON.stringify(answer);
  assert.ok(!Object.keys(answer).includes('error'), raw);
  const { result } = answer;
  assert.equal(result.isError, true, raw);
  assert.deepEqual(result.content.map(({ type }) => type), ['text']);
  assert.doesNotMatch(result.content[0].text, /"|connection|session|not connected|fetch failed|http \d/i);
  assert.ok(!('structuredContent' in result), raw);
  assert.equal(result.resultType, isModern ? 'complete' : undefined, raw);
  assert.equal(result._meta[OUTCOME].code, code, raw);
  assert.equal(result._meta[OUTCOME].retrySafe, !result._meta[OUTCOME].dispatched);
  return { text: result.content[0].text, outcome: result._meta[OUTCOME] };
}

test('over_stdio_a_tool_that_dies_after_its_effect_is_told_as_a_result', async (t) => {
  const hf = await runReady(t);
  const { text, outcome } = assertIsResult(await hf.call('effect_then_die', { key: 'k' }), -31002);
  assert.match(text, /^The call was sent to 'effects' and no answer came back \(killed by signal 9\)\. It may have run\./);
  assert.deepEqual([outcome.dispatched, outcome.retry, outcome.evidence], [true, 'check_first', 'dispatched']);
  assert.equal(hf.server.effects('k'), 1);
  await hf.finish();
});

test('over_http_it_is_told_so_with_json_with_events_and_in_a_batch', async (t) => {
  const gateway = await serve(t, { servers: { one: {} }, defaults: FAST });
  const client = await gateway.join('/mcp');
  const server = gateway.servers.one;
  assertIsResult(await client.call('one__effect_then_die', { key: 'json' }), -31002);
  const events = client.request('tools/call', { name: 'one__effect_then_die', arguments: { key: 'sse' }, _meta: { progressToken: 1 } });
  assertIsResult(await events, -31002);
  const call = (id, key) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'one__effect_then_die', arguments: { key } } });
  const older = await gateway.join('/mcp', { version: '2025-03-26' });
  assertIsResult(await older.post([call('b1', 'batch')]).answer('b1'), -31002);
  for (const key of ['json', 'sse', 'batch']) assert.equal(server.effects(key), 1, key);
  await gateway.finish();
});

test('a_modern_client_gets_a_complete_result_with_status_200', async (t) => {
  const gateway = await serve(t, { servers: { one: {} }, defaults: FAST });
  const body = {
    jsonrpc: '2.0', id: 7, method: 'tools/call',
    params: {
      name: 'effect_then_die', arguments: { key: 'k' },
      _meta: { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientInfo`]: { name: 'e', version: '1' }, [`${META}clientCapabilities`]: {} },
    },
  };
  const response = await fetch(`${gateway.origin}/mcp/one`, {
    method: 'POST', body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'effect_then_die',
    },
  });
  assert.equal(response.status, 200);
  const text = await response.text();
  assertIsResult(JSON.parse(text.startsWith('{') ? text : text.match(/^data: (\{.*"id":7.*)$/m)[1]), -31002, { isModern: true });
  assert.equal(gateway.servers.one.effects('k'), 1);
  await gateway.finish();
});

test('what_was_never_sent_is_told_as_a_result_too_and_what_is_wrong_with_the_request_is_an_error', async (t) => {
  const gateway = await serve(t, { servers: { off: { disabled: true }, one: { deny: ['echo'] } }, defaults: FAST });
  const client = await gateway.join('/mcp');
  const off = assertIsResult(await client.call('off__effect', { key: 'k' }), -31003);
  assert.match(off.text, /switched off by its operator/);
  assertIsResult(await client.call('one__echo', { text: 'x' }), -31007);
  const unknown = await client.call('nobody__knows', {});
  assert.equal(unknown.error.code, -32602);
  assert.ok(Object.keys(unknown).includes('error'));
  await gateway.finish();
});

test('with_errors_as_error_a_program_gets_the_json_rpc_error', async (t) => {
  const hf = await runReady(t, { options: ['--errors-as', 'error'] });
  const answer = await hf.call('effect_then_die', { key: 'k' });
  assert.ok(Object.keys(answer).includes('error'), JSON.stringify(answer));
  assert.equal(answer.error.code, -31002);
  assert.equal(answer.error.data.dispatched, true);
  await hf.finish();
});

test('through_two_holdfasts_the_outcome_arrives_as_the_inner_one_said_it_and_both_count_it', async (t) => {
  const inner = await serve(t, { servers: { one: {} }, defaults: FAST });
  const outer = await serve(t, { servers: { far: { url: `${inner.origin}/mcp/one` } }, defaults: FAST });
  const client = await outer.join('/mcp/far');
  // the two speak the modern era with each other, and what comes from there passes unchanged
  const { text, outcome } = assertIsResult(await client.call('effect_then_die', { key: 'k' }), -31002, { isModern: true });
  assert.match(text, /'one'/);
  assert.equal(outcome.server, 'one');
  assert.equal(inner.servers.one.effects('k'), 1);
  const counted = async (gateway) => (await gateway.get('/metrics')).text.match(/holdfast_calls_total\{[^}]*outcome_unknown[^}]*\} (\d+)/)?.[1];
  assert.equal(await counted(inner), '1');
  assert.equal(await counted(outer), '1');
  await outer.finish();
  await inner.finish();
});

test('a_bridge_says_nothing_of_connections_when_its_server_is_gone', async (t) => {
  const inner = await serve(t, { servers: { one: {} }, defaults: FAST });
  const hf = bridge(t, `${inner.origin}/mcp/one`, { options: ['--wait-ms', '200'] });
  await hf.initialize();
  inner.child.kill('SIGKILL');
  await inner.exited;
  const { text, outcome } = assertIsResult(await hf.call('effect', { key: 'k' }), -31001);
  assert.match(text, /safe to send again/);
  assert.ok(outcome.reason.length > 0);
  await hf.finish();
});
