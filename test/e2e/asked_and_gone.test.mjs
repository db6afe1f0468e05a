// Clients that are asked something by a server and do not answer, because they have gone or cannot hear it: their
// question ends, their place goes to whoever waits for it, and nobody else is taken for one of several.
import test from 'node:test';
import assert from 'node:assert/strict';
import { textOf, until } from './harness.mjs';
import { serve } from './http_harness.mjs';

const ABLE = { capabilities: { elicitation: {} } };
const ELICIT = { method: 'elicitation/create', params: { message: 'who are you?', requestedSchema: { type: 'object', properties: {} } } };
const LONG = { key: 'theirs', ms: 3600000 };

/** The code and reason of a call that failed on our side, said as an error or in a result. */
function failure(answer) {
  const outcome = answer.result?._meta?.['dev.holdfast/outcome'];
  return outcome ?? (answer.error && { code: answer.error.code, ...answer.error.data });
}

/** An answer that must come by itself, however long its call could take. */
function soon(answer) {
  let came;
  answer.then((message) => { came = message; }, (error) => { came = { error: { message: String(error) } }; });
  return until(() => came, 'an answer');
}

/** One server with these options, and a client at its endpoint that can be asked and never answers. */
async function asked(t, options, client = {}) {
  const gateway = await serve(t, { servers: { s: options } });
  const silent = await gateway.join('/mcp/s', { ...ABLE, ...client });
  silent.onRequest = () => undefined;
  return { gateway, server: gateway.servers.s, silent };
}

test('a_client_that_is_asked_and_vanishes_does_not_lock_a_server_that_takes_one_call_at_a_time', async (t) => {
  const { gateway, server, silent } = await asked(t, { maxInFlight: 1, goneMs: 200 });
  silent.call('ask', ELICIT);
  await until(() => silent.requests.length === 1, 'the client to be asked');
  silent.leave();
  const other = await gateway.join('/mcp/s');
  assert.match(textOf(await soon(other.call('effect', { key: 'mine' }))), /./);
  assert.deepEqual(server.effects(), ['mine']);
  await gateway.finish();
});

test('the_call_of_a_client_that_is_gone_is_cancelled_when_its_place_is_wanted_and_not_before', async (t) => {
  const { gateway, server, silent } = await asked(t, { maxInFlight: 1, goneMs: 200 });
  silent.call('slow', LONG);
  await until(() => server.count('slow theirs') === 1, () => `the call to arrive: ${server.events()}`);
  silent.leave();
  const other = await gateway.join('/mcp/s');
  const news = await other.request('ping');
  assert.deepEqual(news.result, {});
  assert.equal(server.count('cancelled'), 0);
  assert.match(textOf(await soon(other.call('effect', { key: 'mine' }))), /./);
  assert.equal(server.count('cancelled'), 1);
  assert.deepEqual(server.effects(), ['mine']);
  await gateway.finish();
});

test('whoever_comes_back_for_the_answer_of_a_call_that_made_room_is_told_that_it_may_have_run', async (t) => {
  const { gateway, server, silent } = await asked(t, { maxInFlight: 1, goneMs: 200 });
  const call = silent.call('slow', LONG);
  await until(() => call.trip.events.length > 0, 'an event id to come back with');
  const { id } = call.trip.events[0];
  call.trip.abort();
  const other = await gateway.join('/mcp/s');
  await soon(other.call('effect', { key: 'mine' }));
  const again = await silent.listen(id);
  const { code, reason, dispatched } = failure(await soon(again.answer(call.id)));
  assert.deepEqual({ code, reason, dispatched }, { code: -31002, reason: 'client_gone', dispatched: true });
  assert.deepEqual(server.effects(), ['mine']);
  await gateway.finish();
});

test('a_call_of_a_client_that_is_gone_does_not_keep_a_server_from_asking_the_one_that_is_there', async (t) => {
  const { gateway, server, silent } = await asked(t, { goneMs: 200 });
  silent.call('slow', LONG);
  await until(() => server.count('slow theirs') === 1, () => `the call to arrive: ${server.events()}`);
  silent.leave();
  const other = await gateway.join('/mcp/s', ABLE);
  other.onRequest = () => ({ result: { action: 'accept', content: { name: 'Ada' } } });
  let said;
  await until(async () => {
    said = textOf(await other.call('ask', ELICIT));
    return said.includes('Ada');
  }, () => `the client that is there to be asked; the server was told ${said}`);
  await gateway.finish();
});

test('a_client_that_listens_and_does_not_answer_has_askMs_and_then_the_server_goes_on', async (t) => {
  const { gateway, silent } = await asked(t, { askMs: 200 });
  const answer = await soon(silent.call('ask', ELICIT));
  assert.match(textOf(answer), /did not answer this request in time \(askMs\)/);
  assert.equal(silent.requests.length, 1);
  assert.equal(silent.count('notifications/cancelled'), 1);
  await gateway.finish();
});

test('a_client_that_takes_no_events_and_has_no_stream_is_not_waited_for', async (t) => {
  const { gateway, silent } = await asked(t, {}, { headers: { accept: 'application/json' } });
  assert.match(textOf(await soon(silent.call('ask', ELICIT))), /no open stream/);
  assert.deepEqual(silent.requests, []);
  await gateway.finish();
});
