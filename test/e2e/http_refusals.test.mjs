// What proves that a remote server did not run a call, and what only looks like it. Verdicts come from the server's own log of effects.
import test from 'node:test';
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { textOf } from './harness.mjs';
import { connectedTo, httpServer } from './http_harness.mjs';

const SOON = { minMs: 20, maxMs: 40, jitter: 0 };

/** What a call that failed was told, whichever way it is said. */
function failureOf(answer) {
  if (answer.error) return { code: answer.error.code, ...answer.error.data };
  return answer.result?._meta?.['dev.holdfast/outcome'];
}

const keyOf = (x) => x.message.params?.arguments?.key;
const isModern = (x) => x.request.headers['mcp-protocol-version'] === '2026-07-28';

/** `pay` with this key takes effect, and then `answer` says something. */
function afterEffect(server, key, answer) {
  server.front = (x) => {
    if (keyOf(x) !== key) return false;
    server.effects.push(key);
    answer(x);
    return true;
  };
}

const result = (x) => x.reply({ result: { content: [{ type: 'text', text: `paid ${keyOf(x)}` }] } });
const json = (x) => JSON.stringify(result(x));
const rawAnswer = (status, head, body, version = '1.1') => Buffer.concat([
  Buffer.from(`HTTP/${version} ${status} No\r\n${head.map((line) => `${line}\r\n`).join('')}\r\n`), Buffer.from(body)]);
const withBody = (x, status, body, type = 'application/json', more = []) => {
  const bytes = Buffer.from(body);
  x.raw(rawAnswer(status, [`Content-Type: ${type}`, `Content-Length: ${bytes.length}`, ...more], bytes));
};

/** An answer, oddly wrapped: [name, how it is sent, whether it can still be read]. */
const WRAPS = [
  ['error_null_beside_the_result', (x, s) => withBody(x, s, JSON.stringify({ ...result(x), error: null })), true],
  ['no_jsonrpc', (x, s) => withBody(x, s, JSON.stringify({ ...result(x), jsonrpc: undefined })), true],
  ['jsonrpc_as_a_number', (x, s) => withBody(x, s, JSON.stringify({ ...result(x), jsonrpc: 2 })), true],
  ['its_id_with_a_fraction', (x, s) => withBody(x, s, json(x).replace(`"id":${x.message.id}`, `"id":${x.message.id}.0`)), true],
  ['its_id_with_an_exponent', (x, s) => withBody(x, s, json(x).replace(`"id":${x.message.id}`, `"id":${x.message.id.toExponential()}`)), true],
  ['a_batch_of_one', (x, s) => withBody(x, s, `[${json(x)}]`), true],
  ['an_event_stream', (x, s) => withBody(x, s, `event: message\ndata: ${json(x)}\n\n`, 'text/event-stream'), true],
  ['too_large', (x, s) => withBody(x, s, JSON.stringify({ ...result(x), pad: 'x'.repeat(200000) })), false],
  ['too_deep', (x, s) => withBody(x, s, `{"id":${x.message.id},"result":${'['.repeat(1000)}${']'.repeat(1000)}}`), false],
  ['invalid_utf8', (x, s) => withBody(x, s, Buffer.from(`{"jsonrpc":"2.0","id":${x.message.id},"result":"\xff"}`, 'latin1')), false],
  ['gzip', (x, s) => withBody(x, s, gzipSync(json(x)), 'application/json', ['Content-Encoding: gzip']), false],
  ['trailing_text', (x, s) => withBody(x, s, `${json(x)} that is all`), true],
  ['two_documents', (x, s) => withBody(x, s, `${json(x)}\n{"jsonrpc":"2.0","method":"x"}`), true],
  ['cut_without_a_length', (x, s) => x.raw(rawAnswer(s, ['Content-Type: application/json'], json(x).slice(0, 40), '1.0')), false],
];

async function wrapped(t, wrap, statuses, isReadable) {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON, refusedStatus: [410] }, { options: ['--max-message-bytes', '100000'] });
  for (const status of statuses) {
    const key = `k${status}`;
    afterEffect(server, key, (x) => wrap(x, status));
    const answer = await hf.call('pay', { key });
    assert.equal(server.ran(key), 1, `it ran once with ${status}`);
    if (isReadable) assert.equal(textOf(answer), `paid ${key}`, `the answer in a ${status}`);
    else assert.deepEqual([failureOf(answer).code, failureOf(answer).dispatched], [-31002, true], `what is said of a ${status}`);
  }
  await hf.finish();
}

for (const [name, wrap, isReadable] of WRAPS) {
  test(`a_tool_that_ran_and_answers_404_with_${name}_is_not_run_again`, (t) => wrapped(t, wrap, [404], isReadable));
}
for (const name of ['gzip', 'trailing_text', 'a_batch_of_one']) {
  const [, wrap, isReadable] = WRAPS.find((w) => w[0] === name);
  test(`a_tool_that_ran_and_answers_any_other_4xx_with_${name}_is_not_run_again`, (t) => wrapped(t, wrap, [401, 405, 413, 415, 421, 425, 410], isReadable));
}

test('a_tools_own_403_followed_by_a_restart_is_not_run_again', async (t) => {
  const server = await httpServer(t, { unknown: 403 });
  const hf = await connectedTo(t, server, { reconnect: SOON });
  afterEffect(server, 'k', (x) => {
    server.forget(); // as a restart does, before any ping can come
    x.status(403, { body: 'You may not' });
  });
  const { code, dispatched, retrySafe } = failureOf(await hf.call('pay', { key: 'k' }));
  assert.deepEqual([code, dispatched, retrySafe], [-31009, true, false]);
  assert.equal(server.ran('k'), 1);
  server.front = undefined;
  assert.equal(textOf(await hf.call('pay', { key: 'next' })), 'paid next');
  await hf.finish();
});

test('a_server_that_refuses_every_ping_proves_nothing_with_it', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON });
  server.front = (x) => {
    if (x.message.method === 'ping') return !x.status(403, { body: 'No' });
    if (keyOf(x) !== 'k') return false;
    server.effects.push('k');
    return !x.status(403, { body: 'No' });
  };
  const { code, dispatched } = failureOf(await hf.call('pay', { key: 'k' }));
  assert.deepEqual([code, dispatched], [-31009, true]);
  assert.equal(server.ran('k'), 1);
  await hf.finish();
});

test('replicas_without_stickiness_neither_run_a_call_twice_nor_make_session_after_session', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON });
  const unknown = (x) => x.status(404, { body: { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } } });
  let calls = 0;
  server.front = (x) => x.message.method === 'tools/call' && ++calls % 2 === 1 && !unknown(x); // every other call meets the other one
  for (let i = 0; i < 6; i++) {
    const answer = await hf.call('pay', { key: `k${i}` });
    assert.equal(server.ran(`k${i}`) , answer.result && !failureOf(answer) ? 1 : 0);
    if (failureOf(answer)) assert.equal(failureOf(answer).dispatched, true);
  }
  assert.equal(server.count('initialize'), 2, 'one session more, and not one for each call');
  await hf.finish();
});

for (const [name, reply] of [
  ['echoes_our_id', (x) => x.status(404, { body: { jsonrpc: '2.0', id: x.message.id ?? null, error: { code: -32001, message: 'Session not found' } } })],
  ['names_the_session_in_plain_text', (x) => x.status(400, { body: `no session ${x.request.headers['mcp-session-id']}` })],
  ['says_nothing', (x) => x.status(404)],
  ['says_200_and_an_error_to_nobody_in_an_event_stream', (x) => withBody(x, 200, `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } })}\n\n`, 'text/event-stream')],
  ['says_200_and_an_error_to_nobody', (x) => x.status(200, { body: { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } } })],
]) {
  test(`a_server_that_lost_its_sessions_and_${name}_serves_the_next_call_once`, async (t) => {
    const server = await httpServer(t);
    const hf = await connectedTo(t, server, { reconnect: SOON });
    server.forget();
    server.front = (x) => {
      const id = x.request.headers['mcp-session-id'];
      return id !== undefined && !server.sessions.has(id) && !reply(x);
    };
    assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
    assert.equal(server.ran('k'), 1);
    assert.equal(server.delivered('k'), 2);
    await hf.finish();
  });
}

for (const code of [-32020, -32022]) {
  test(`a_legacy_server_that_uses_${-code}_after_its_effect_is_not_run_again`, async (t) => {
    const server = await httpServer(t);
    const hf = await connectedTo(t, server, { reconnect: SOON });
    const error = { code, message: 'of its own', data: { supported: ['2025-11-25'] } };
    for (const status of [200, 400]) {
      const answer = await hf.call('status', { key: `k${status}`, status, rpc: error });
      assert.equal(answer.error.code, code, 'its own error, as it said it');
      assert.equal(server.ran(`k${status}`), 1);
    }
    await hf.finish();
  });
}

for (const status of [400, 404, 405]) {
  test(`a_modern_servers_bare_${status}_after_its_effect_is_not_run_again_in_the_older_era`, async (t) => {
    const server = await httpServer(t);
    let modern = true;
    server.front = (x) => {
      const { method } = x.message;
      if (!isModern(x)) return modern && !x.status(400, { body: 'another revision' });
      if (!modern) return !x.status(status, { body: 'what is this' });
      if (method === 'server/discover') x.result({ resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 'm', version: '1' } });
      else if (method === 'tools/list') x.result({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: server.toolList() });
      else if (method === 'tools/call') {
        server.effects.push(keyOf(x));
        modern = false; // it is rolled back at this very moment
        x.status(status, { body: 'the tool says no' });
      } else x.status(404, { body: { jsonrpc: '2.0', id: x.message.id, error: { code: -32601, message: 'no' } } });
      return true;
    };
    Object.defineProperty(server, 'isSettled', { get: () => true });
    const hf = await connectedTo(t, server, { reconnect: SOON });
    const { code, dispatched } = failureOf(await hf.call('pay', { key: 'k' }));
    assert.equal(server.ran('k'), 1);
    assert.equal(code, -31009);
    assert.equal(dispatched, status !== 405);
    await hf.finish();
  });
}

test('a_status_that_the_operator_vouches_for_proves_nothing_if_its_body_was_cut', async (t) => {
  const server = await httpServer(t);
  const hf = await connectedTo(t, server, { reconnect: SOON, refusedStatus: [429, 503] });
  for (const status of [429, 503]) {
    const key = `k${status}`;
    afterEffect(server, key, (x) => x.raw(rawAnswer(status, ['Content-Type: application/json', 'Content-Length: 200'], json(x).slice(0, 30))));
    const { code, dispatched } = failureOf(await hf.call('pay', { key }));
    assert.deepEqual([code, dispatched], [-31002, true]);
    assert.equal(server.ran(key), 1);
  }
  await hf.finish();
});

// ---- a session that is lost without a word that proves it ----

const WORDLESS = {
  an_empty_400: (x) => withBody(x, 400, '', 'text/plain'),
  a_blank_400: (x) => withBody(x, 400, ' \n', 'text/plain'),
  a_400_in_gzip: (x) => withBody(x, 400, gzipSync('{}'), 'application/json', ['Content-Encoding: gzip']),
  a_400_that_names_the_method: (x) => withBody(x, 400, `cannot ${x.message.method}`, 'text/plain'),
  a_404_in_an_event_with_its_id: (x) => withBody(x, 404,
    `data: ${JSON.stringify({ jsonrpc: '2.0', id: x.message.id, error: { code: -32001, message: 'gone' } })}\n\n`, 'text/event-stream'),
};
for (const [name, refuse] of Object.entries(WORDLESS)) {
  test(`a_session_lost_with_${name}_is_made_anew_and_its_call_is_not_sent_again`, async (t) => {
    const server = await httpServer(t);
    const hf = await connectedTo(t, server, { reconnect: SOON });
    textOf(await hf.call('pay', { key: 'before' }));
    server.front = (x) => {
      if (x.message.method === 'initialize' || x.session || !x.request.headers['mcp-session-id']) return false;
      refuse(x);
      return true;
    };
    server.forget();
    const first = await hf.call('pay', { key: 'first' });
    assert.ok(failureOf(first), 'nobody can tell what became of it');
    textOf(await hf.call('pay', { key: 'second' }));
    assert.equal(server.delivered('first'), 1);
    assert.deepEqual(server.effects, ['before', 'second']);
    await hf.finish();
  });
}
