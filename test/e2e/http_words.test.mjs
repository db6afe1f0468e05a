// What a server says in words is an answer, never a reason: nothing is retried, nothing reconnected.
import test from 'node:test';
import assert from 'node:assert/strict';
import { textOf } from './harness.mjs';
import { connectedTo, httpServer } from './http_harness.mjs';

const WORDS = ['session not found', 'Session expired', 'connection refused', 'ECONNRESET', 'EOF', 'HTTP 404', 'invalid session id'];

async function unharmed(server, hf, key) {
  assert.equal(server.delivered(key), 1, 'delivered once');
  assert.equal(server.ran(key), 1, 'ran once');
  assert.equal(server.count('initialize'), 1, 'nothing was reconnected');
  textOf(await hf.call('pay', { key: `after ${key}` }));
  assert.equal(server.count('initialize'), 1);
}

async function wordsAreNoReason(t, style) {
  const server = await httpServer(t, { style });
  const hf = await connectedTo(t, server);
  for (const [i, message] of WORDS.entries()) {
    const answer = await hf.call('rpc_error', { key: `rpc${i}`, code: -32000 - i, message, data: { words: message } });
    assert.deepEqual(answer.error, { code: -32000 - i, message, data: { words: message } });
    await unharmed(server, hf, `rpc${i}`);
    const told = await hf.call('tool_error', { key: `tool${i}`, text: message });
    assert.deepEqual(told.result, { content: [{ type: 'text', text: message }], isError: true });
    await unharmed(server, hf, `tool${i}`);
  }
  await hf.finish();
}

// @field Z2: a tool error that talks of lost connections or sessions is an answer
test('an_error_that_talks_of_lost_sessions_is_passed_on_as_json', (t) => wordsAreNoReason(t, 'json'));
test('an_error_that_talks_of_lost_sessions_is_passed_on_as_an_event', (t) => wordsAreNoReason(t, 'sse'));

// @field Z11: a 404 is a lost session only if the body holds no answer to this very request
test('a_404_with_method_not_found_in_its_body_is_an_answer_and_the_session_lives', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server);
  const answer = await hf.call('status', { key: 'k', status: 404, rpc: { code: -32601, message: 'Method not found' } });
  assert.deepEqual(answer.error, { code: -32601, message: 'Method not found' });
  await unharmed(server, hf, 'k');
  await hf.finish();
});

test('any_status_with_an_answer_to_our_id_in_its_body_is_that_answer', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server);
  for (const status of [400, 401, 403, 404, 409, 421, 429, 500, 502, 503]) {
    const rpc = { code: -32001, message: 'session not found', data: { status } };
    const answer = await hf.call('status', { key: `k${status}`, status, rpc });
    assert.deepEqual(answer.error, rpc);
    await unharmed(server, hf, `k${status}`);
  }
  await hf.finish();
});

// Some servers lay their JSON out for people. A client of stdio gets one message on one line all the same.
for (const style of ['json', 'sse']) {
  test(`a_message_on_many_lines_reaches_a_client_of_stdio_on_one_${style}`, async (t) => {
    const server = await httpServer(t, { style, indent: '\r\n\t' });
    const hf = await connectedTo(t, server, {}, { capabilities: { roots: {} } });
    for (const words of ['short', 'long'.repeat(100_000)]) assert.equal(textOf(await hf.call('echo', { text: words })), words);
    hf.onRequest = () => ({ result: { roots: [] } });
    assert.match(textOf(await hf.call('ask', { key: 'k', method: 'roots/list' })), /"roots":\[\]/);
    await hf.finish();
  });
}
