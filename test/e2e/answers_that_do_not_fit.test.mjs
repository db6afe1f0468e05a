// Answers that are larger than what holdfast may hold: each call is told its own truth, with its own id.
import test from 'node:test';
import assert from 'node:assert/strict';
import { until } from './harness.mjs';
import { httpServer, rawConnection, serve } from './http_harness.mjs';

/** Of a result that is ours and says what became of the call. An error would make some clients send it again. */
function outcomeOf(answer) {
  assert.ok(answer.result, JSON.stringify(answer).slice(0, 300));
  return answer.result._meta?.['dev.holdfast/outcome'];
}

const call = (id, name, args) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
const LIMITS = { maxMessageBytes: 2000000, maxBufferedBytes: 4000000 };

test('of_a_batch_whose_answers_do_not_fit_each_call_is_told_its_own_truth', async (t) => {
  const server = await httpServer(t);
  const hf = await serve(t, { servers: { s: { http: server } }, holdfast: LIMITS });
  const client = await hf.join('/mcp/s', { version: '2025-03-26' });
  const batch = [
    ...Array.from({ length: 8 }, (_, i) => call(`big${i}`, 'big', { key: `big${i}`, bytes: 1500000 })),
    call('small', 'pay', { key: 'small' }),
  ];
  const trip = client.post(batch, { accept: 'application/json' });
  await trip.ended;
  assert.equal(trip.status, 200, trip.text.slice(0, 300));
  assert.deepEqual(trip.messages.map((m) => m.id).sort(), batch.map((m) => m.id).sort());
  for (const { id } of batch) {
    const answer = trip.messages.find((m) => m.id === id);
    const outcome = outcomeOf(answer);
    if (outcome) assert.deepEqual([outcome.code, outcome.dispatched, outcome.retrySafe], [-31006, true, false]);
    assert.equal(server.ran(id), 1);
  }
  assert.ok(trip.messages.some((m) => outcomeOf(m)), 'not all of them fit');
  assert.ok(!outcomeOf(trip.messages.find((m) => m.id === 'small')), 'a small answer always does');
  await hf.finish();
});

test('a_client_that_reads_is_told_although_others_made_the_process_hold_too_much', async (t) => {
  const server = await httpServer(t);
  const hf = await serve(t, { servers: { s: { http: server } }, holdfast: { maxMessageBytes: 12000000, maxBufferedBytes: 20000000 } });
  const client = await hf.join('/mcp/s');
  const headers = `Mcp-Session-Id: ${client.session}\r\nContent-Type: application/json\r\nAccept: application/json\r\n`;
  const lazy = Array.from({ length: 6 }, () => rawConnection(hf));
  for (const [i, raw] of lazy.entries()) { // none of these reads what it asked for
    raw.socket.pause();
    const body = JSON.stringify(call(i, 'big', { key: `lazy${i}`, bytes: 11000000 }));
    raw.socket.write(`POST /mcp/s HTTP/1.1\r\nHost: ${hf.address}:${hf.port}\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`);
  }
  await until(() => lazy.every((_, i) => server.ran(`lazy${i}`) === 1), 'all of them to run');
  const slow = lazy.at(-1);
  slow.socket.resume();
  await until(() => /\r\n\r\n[^]*\}$/.test(slow.text) || slow.isClosed, 'the last one to be told something');
  const answer = JSON.parse(slow.text.slice(slow.text.indexOf('\r\n\r\n') + 4));
  assert.equal(answer.id, lazy.length - 1);
  const outcome = outcomeOf(answer);
  if (outcome) assert.deepEqual([outcome.code, outcome.dispatched], [-31006, true]);
  for (const raw of lazy) raw.socket.destroy();
  await hf.finish();
});
