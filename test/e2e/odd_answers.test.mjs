// Answers that are oddly written, cut behind their last brace, or come by another way than expected: each counts, once.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { ROOT, HOLDFAST, Holdfast, lines, scratch, textOf } from './harness.mjs';
import { connectedTo, httpServer, sseServer } from './http_harness.mjs';

/** One of ours, in either form: as an error, or as a result that says what became of the call. */
function outcomeOf(answer) {
  const outcome = answer.result?._meta?.['dev.holdfast/outcome'];
  return outcome ?? (answer.error && { code: answer.error.code, ...answer.error.data });
}

// ---- stdout ----

async function oddServer(t) {
  const dir = scratch();
  const effects = path.join(dir, 'effects');
  const command = [process.execPath, path.join(ROOT, 'test/servers/odd_server.mjs'), effects];
  const hf = new Holdfast(t, dir, {}, HOLDFAST, ['run', '--', ...command], {});
  await hf.initialize();
  hf.ran = (key) => lines(effects).filter((k) => k === key).length;
  return hf;
}

const ODD_LINES = {
  a_log_line_with_the_id_of_the_call: ['{"level":"info","id":ID,"msg":"charging"}', '{"jsonrpc":"2.0","id":ID,"result":RESULT}'],
  a_log_line_with_the_id_and_an_error_in_words: ['{"id":ID,"error":"declined, trying again"}', '{"jsonrpc":"2.0","id":ID,"result":RESULT}'],
  an_error_that_is_null_beside_the_result: ['{"jsonrpc":"2.0","id":ID,"result":RESULT,"error":null}'],
  no_version: ['{"id":ID,"result":RESULT}'],
  a_version_that_is_a_number: ['{"jsonrpc":2.0,"id":ID,"result":RESULT}'],
  an_id_with_a_fraction: ['{"jsonrpc":"2.0","id":ID.0,"result":RESULT}'],
  an_id_with_an_exponent: ['{"jsonrpc":"2.0","id":ID.0e0,"result":RESULT}'],
  an_id_that_stands_twice: ['{"jsonrpc":"2.0","id":7,"result":RESULT,"id":ID}'],
  a_batch_of_one: ['[{"id":ID,"result":RESULT}]'],
  words_behind_it: ['{"jsonrpc":"2.0","id":ID,"result":RESULT} done'],
  words_before_it: ['DEBUG done {"jsonrpc":"2.0","id":ID,"result":RESULT}'],
  words_in_brackets_before_it: ['[INFO] {pay} done: {"jsonrpc":"2.0","id":ID,"result":RESULT}.'],
  a_NUL_before_it: ['\u0000{"jsonrpc":"2.0","id":ID,"result":RESULT}'],
  a_message_that_was_cut_before_it: ['{"jsonrpc":"2.0","method":"notifications/mess{"jsonrpc":"2.0","id":ID,"result":RESULT}'],
  a_log_line_in_words_with_the_id_and_a_result: ['INFO done {"id":ID,"result":"ok"}', '{"jsonrpc":"2.0","id":ID,"result":RESULT}'],
  a_log_line_in_words_with_the_request: ['got {"jsonrpc":"2.0","id":ID,"method":"tools/call"}', '{"jsonrpc":"2.0","id":ID,"result":RESULT}'],
};

for (const [name, said] of Object.entries(ODD_LINES)) {
  test(`an_answer_on_stdout_counts_with_${name}`, async (t) => {
    const hf = await oddServer(t);
    assert.equal(textOf(await hf.call('odd', { key: 'k', lines: said })), 'did k');
    assert.equal(hf.ran('k'), 1);
    await hf.finish();
  });
}

for (const [name, glue] of Object.entries({ nothing: '', a_comma: ',', words: ' DEBUG done ' })) {
  test(`two_answers_in_one_line_with_${name}_between_them_go_each_to_its_call`, async (t) => {
    const hf = await oddServer(t);
    const first = hf.call('odd', { key: 'a' });
    const glued = `{"jsonrpc":"2.0","id":ID0,"result":RESULT}${glue}{"jsonrpc":"2.0","id":ID1,"result":RESULT}`;
    const second = hf.call('odd', { key: 'b', lines: [glued] });
    assert.equal(textOf(await first), 'did b');
    assert.equal(textOf(await second), 'did b');
    assert.deepEqual([hf.ran('a'), hf.ran('b')], [1, 1]);
    await hf.finish();
  });
}

test('an_answer_with_neither_result_nor_error_is_an_unknown_outcome_and_runs_once', async (t) => {
  const hf = await oddServer(t);
  const outcome = outcomeOf(await hf.call('odd', { key: 'k', lines: ['{"jsonrpc":"2.0","id":ID,"error":"boom"}'] }));
  assert.equal(outcome?.code, -31002);
  assert.equal(hf.ran('k'), 1);
  await hf.finish();
});

// ---- HTTP ----

const answer = (x) => JSON.stringify(x.reply({ result: { content: [{ type: 'text', text: `paid ${x.message.params.arguments.key}` }] } }));
const head = (type, rest) => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${rest}\r\n\r\n`;
const JSON_HEAD = (rest) => head('application/json', rest);
const chunk = (text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

const ODD_BODIES = {
  the_last_chunk_missing: (x) => JSON_HEAD('Transfer-Encoding: chunked') + chunk(answer(x)),
  a_byte_of_its_content_length_missing: (x) => JSON_HEAD(`Content-Length: ${Buffer.byteLength(answer(x)) + 1}`) + answer(x),
  the_blank_line_of_its_event_missing: (x) => head('text/event-stream', 'Connection: close') + `event: message\ndata: ${answer(x)}\n`,
  the_last_chunk_and_the_blank_line_of_its_event_missing: (x) => head('text/event-stream', 'Transfer-Encoding: chunked') + chunk(`data: ${answer(x)}`),
  an_error_status_and_an_event_stream: (x) => head('text/event-stream', 'Connection: close').replace('200 OK', '500 Oops') + `data: ${answer(x)}\n\n`,
};

for (const [name, bytes] of Object.entries(ODD_BODIES)) {
  test(`an_answer_over_http_counts_with_${name}`, async (t) => {
    const server = await httpServer(t);
    const hf = await connectedTo(t, server);
    server.front = (x) => {
      if (x.message.method !== 'tools/call') return false;
      server.effects.push(x.message.params.arguments.key);
      x.raw(bytes(x));
      return true;
    };
    assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
    assert.equal(server.ran('k'), 1);
    assert.equal(server.delivered('k'), 1);
    await hf.finish();
  });
}

const UNENDED_BODIES = {
  the_last_chunk: (x) => JSON_HEAD('Transfer-Encoding: chunked') + chunk(answer(x)),
  a_byte_of_its_content_length: (x) => JSON_HEAD(`Content-Length: ${Buffer.byteLength(answer(x)) + 1}`) + answer(x),
  the_blank_line_of_its_event: (x) => head('text/event-stream', 'Transfer-Encoding: chunked') + chunk(`data: ${answer(x)}\n`),
  the_end_of_the_line_of_its_event: (x) => head('text/event-stream', 'Transfer-Encoding: chunked') + chunk(`data: ${answer(x)}`),
};

for (const [name, bytes] of Object.entries(UNENDED_BODIES)) {
  test(`an_answer_over_http_counts_while_its_connection_stays_open_without_${name}`, async (t) => {
    const server = await httpServer(t);
    const hf = await connectedTo(t, server);
    server.front = (x) => {
      if (x.message.method !== 'tools/call') return false;
      server.effects.push(x.message.params.arguments.key);
      x.response.socket.write(bytes(x));
      return true;
    };
    assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
    assert.equal(textOf(await hf.call('pay', { key: 'l' })), 'paid l');
    assert.deepEqual([server.ran('k'), server.ran('l')], [1, 1]);
    await hf.finish();
  });
}

const LOST_POSTS = {
  closed_without_an_answer: (x) => x.response.socket.destroy(),
  answered_with_500: (x) => x.status(500, { body: 'oops' }),
  answered_with_504: (x) => x.status(504, { body: 'too slow' }),
};

for (const [name, lose] of Object.entries(LOST_POSTS)) {
  test(`over_http_sse_the_answer_counts_although_its_post_was_${name}`, async (t) => {
    const server = await sseServer(t);
    const hf = await connectedTo(t, server);
    server.front = (x) => {
      if (x.message.method !== 'tools/call') return false;
      lose(x);
      server.perform(x);
      return true;
    };
    assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
    assert.equal(server.ran('k'), 1);
    await hf.finish();
  });
}
