// The rest of the protocol between one client and one server, line by line.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, elapse, run, runReady, textOf, until } from './harness.mjs';

const NO_DELAY = ['--reconnect-min-ms', '0'];
const ALL = { roots: { listChanged: true }, sampling: {}, elicitation: {} };

test('the_servers_own_initialize_result_is_passed_on', async (t) => {
  const hf = run(t, { flags: ['--instructions', 'be "kind"'] });
  const hello = await hf.initialize({ version: '2024-11-05' });
  assert.equal(hello.protocolVersion, '2024-11-05');
  assert.equal(hello.serverInfo.name, 'effects');
  assert.equal(hello.instructions, 'be "kind"');
  assert.equal(hello.capabilities.tools.listChanged, true);
  assert.equal(hello.capabilities.resources.subscribe, true);
  assert.match(hf.rawAnswers.get('1'), /"x-extra":1\.0/);
  await hf.finish();
});

test('the_server_is_greeted_with_the_clients_own_words_also_after_a_restart', async (t) => {
  const hf = run(t, { options: NO_DELAY });
  await hf.initialize({ version: '2025-03-26', capabilities: { roots: {}, experimental: { odd: { n: 1.5 } } }, info: { name: 'mine', version: '9' } });
  textOf(await hf.call('echo', { text: 'x' }));
  await hf.server.kill();
  textOf(await hf.call('echo', { text: 'x' }));
  const greetings = hf.server.events().filter((e) => e.startsWith('client ')).map((e) => JSON.parse(e.slice(7)));
  assert.equal(greetings.length, 2);
  for (const greeting of greetings) {
    assert.equal(greeting.protocolVersion, '2025-03-26');
    assert.deepEqual(greeting.clientInfo, { name: 'mine', version: '9' });
    assert.deepEqual(greeting.capabilities.experimental, { odd: { n: 1.5 } });
  }
  await hf.finish();
});

test('what_is_not_ours_passes_byte_for_byte_both_ways', async (t) => {
  const hf = await runReady(t);
  const params = '{"name":"params","arguments":{"n":[1.0,1E5,-0,12345678901234567890,0.10,1e400],"t":"\\u0041\\/\\ud83d\\ude00\\u0000", "odd" : {"k":1,"k":2}},"_meta":{"traceparent":"00-ab","dev.x/y":{"z":1.50}},"unknown":[ ]}';
  const there = hf.answerTo('there');
  hf.send(`{"jsonrpc":"2.0","id":"there","method":"tools/call","params":${params},"extra":true}\n`);
  assert.equal(textOf(await there), params);
  const back = hf.call('spellings');
  await back;
  assert.ok(hf.rawAnswers.get(String(back.id)).includes('{"content":[],"n":[1.0,1E5,-0,12345678901234567890,0.10,1e400],"t":"\\u0041\\/\\ud83d\\ude00\\u0000","x" : {"k":1,"k":2}}'));
  await hf.finish();
});

test('ids_of_every_kind_come_back_as_they_were', async (t) => {
  const hf = await runReady(t);
  for (const id of ['"text"', '0', '-7', '9007199254740993', '1.5', '"\\u00e9"', '""']) {
    hf.send(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}\n`);
    await hf.answerTo(JSON.parse(id));
    assert.ok(hf.rawAnswers.get(JSON.stringify(JSON.parse(id))).includes(`"id":${id}`), id);
  }
  await hf.finish();
});

test('two_requests_in_flight_with_one_id_each_get_their_own_answer_and_a_cancel_hits_neither', async (t) => {
  const hf = await runReady(t);
  const first = hf.call('slow', { ms: 150, key: 'one' }, { id: 'same' });
  const second = hf.call('slow', { ms: 200, key: 'two' }, { id: 'same' });
  await until(() => hf.server.count('slow') === 2, 'both to be dispatched');
  hf.notify('notifications/cancelled', { requestId: 'same' });
  textOf(await first);
  textOf(await second);
  assert.deepEqual(hf.server.effects(), ['one', 'two']);
  assert.equal(hf.server.count('cancelled'), 0);
  await hf.finish();
});

// @field A12: a caller's cancel is no death of the server
// @field B14: a cancel counts as no failure
test('a_cancel_reaches_the_server_under_its_own_id_and_the_call_is_never_answered', async (t) => {
  const hf = await runReady(t);
  hf.send({ jsonrpc: '2.0', id: 'gone', method: 'tools/call', params: { name: 'slow', arguments: { ms: 60000, key: 'gone' } } });
  const stays = hf.call('slow', { ms: 200, key: 'stays' });
  await until(() => hf.server.count('slow') === 2, 'both to be dispatched');
  hf.notify('notifications/cancelled', { requestId: 'gone', reason: 'changed my mind' });
  await until(() => hf.server.count('cancelled gone') === 1, 'the cancel to arrive');
  assert.match(hf.server.events().find((e) => e.startsWith('got notifications/cancelled')), /changed my mind/);
  textOf(await stays);
  await hf.settle();
  assert.equal(hf.server.starts().length, 1);
  assert.deepEqual(hf.server.effects(), ['stays']);
  await hf.finish();
});

test('a_cancel_of_a_call_in_our_queue_withdraws_it', async (t) => {
  const hf = await runReady(t, { options: ['--max-in-flight', '1'] });
  const slow = hf.call('slow', { ms: 200, key: 'slow' });
  hf.send({ jsonrpc: '2.0', id: 'queued', method: 'tools/call', params: { name: 'effect', arguments: { key: 'queued' } } });
  hf.notify('notifications/cancelled', { requestId: 'queued' });
  textOf(await slow);
  textOf(await hf.call('effect', { key: 'last' }));
  assert.deepEqual(hf.server.effects(), ['slow', 'last']);
  await hf.finish();
});

test('a_cancel_of_nothing_is_nothing', async (t) => {
  const hf = await runReady(t);
  hf.notify('notifications/cancelled', { requestId: 'never sent' });
  hf.notify('notifications/cancelled', {});
  hf.notify('notifications/cancelled');
  textOf(await hf.call('effect', { key: 'next' }));
  await hf.finish();
});

test('progress_comes_under_the_clients_own_token_in_order_before_the_answer', async (t) => {
  const hf = await runReady(t);
  const calls = ['tok', 7].map((progressToken) => hf.call('progress', { n: 5 }, { meta: { progressToken } }));
  for (const call of calls) textOf(await call);
  for (const token of ['tok', 7]) {
    const steps = hf.messages.filter((m) => m.method === 'notifications/progress' && m.params.progressToken === token);
    assert.deepEqual(steps.map((m) => m.params.progress), [1, 2, 3, 4, 5]);
    assert.deepEqual(steps.map((m) => m.params.message), [1, 2, 3, 4, 5].map((n) => `step ${n}`));
  }
  textOf(await hf.call('progress', { n: 5 }));
  assert.equal(hf.count('notifications/progress'), 10);
  await hf.finish();
});

// @field Y13: a server's ping is answered
// @field X5: a server's request is never taken for an answer
test('a_servers_ping_is_answered_by_us', async (t) => {
  const hf = await runReady(t);
  assert.equal(textOf(await hf.call('ask', { method: 'ping' })), '{}');
  assert.equal(hf.requests.length, 0);
  await hf.finish();
});

test('a_servers_questions_reach_the_client_and_its_answers_the_server', async (t) => {
  const hf = await runReady(t, { capabilities: ALL });
  hf.onRequest = ({ method, params }) => ({
    result: {
      'roots/list': { roots: [{ uri: 'file:///here' }] },
      'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: params?.messages?.length } },
      'elicitation/create': { action: 'accept', content: { said: params?.message } },
    }[method],
  });
  assert.deepEqual(JSON.parse(textOf(await hf.call('ask', { method: 'roots/list' }))), { roots: [{ uri: 'file:///here' }] });
  const sample = await hf.call('ask', { method: 'sampling/createMessage', params: { messages: [1, 2], maxTokens: 5 } });
  assert.equal(JSON.parse(textOf(sample)).content.text, 2);
  const asked = await hf.call('ask', { method: 'elicitation/create', params: { message: 'sure?', requestedSchema: {} } });
  assert.equal(JSON.parse(textOf(asked)).content.said, 'sure?');
  const ids = new Set(hf.requests.map((r) => r.id));
  assert.equal(ids.size, 3);
  await hf.finish();
});

test('the_call_budget_stands_still_while_the_client_is_asked', async (t) => {
  const hf = await runReady(t, { capabilities: ALL, options: ['--call-timeout-ms', '400'] });
  hf.onRequest = async () => {
    await elapse(1000); // a person thinks longer than a tool may take
    return { result: { roots: [] } };
  };
  assert.equal(textOf(await hf.call('ask', { method: 'roots/list' })), '{"roots":[]}');
  await hf.finish();
});

test('a_call_before_initialize_is_answered_too', async (t) => {
  const hf = run(t, { options: ['--wait-ms', '200', '--list-wait-ms', '200'] });
  const [list, call] = [hf.request('tools/list', {}), hf.call('effect', { key: 'early' })];
  assert.ok((await list).result ?? (await list).error);
  const answer = await call;
  assert.equal(hf.server.effects('early'), answer.result ? 1 : 0);
  await hf.initialize();
  textOf(await hf.call('effect', { key: 'k' }));
  await hf.finish();
});

test('a_clients_refusal_reaches_the_server_unchanged', async (t) => {
  const hf = await runReady(t, { capabilities: ALL });
  hf.onRequest = () => ({ error: { code: -1, message: 'user said no', data: { a: 1 } } });
  assert.deepEqual(JSON.parse(textOf(await hf.call('ask', { method: 'elicitation/create', params: {} }))), { code: -1, message: 'user said no', data: { a: 1 } });
  await hf.finish();
});

test('a_client_is_never_asked_what_it_cannot_do', async (t) => {
  const hf = await runReady(t);
  for (const method of ['roots/list', 'sampling/createMessage', 'elicitation/create']) {
    assert.ok(JSON.parse(textOf(await hf.call('ask', { method, params: {} }))).code < 0);
  }
  assert.equal(hf.requests.length, 0);
  await hf.finish();
});

test('an_unanswered_question_ends_with_its_server', async (t) => {
  const hf = await runReady(t, { capabilities: ALL, options: NO_DELAY });
  hf.onRequest = () => null;
  const asking = hf.call('ask', { method: 'roots/list' });
  const question = await until(() => hf.requests[0], 'the question');
  await hf.server.kill();
  assertOurError(await asking, -31002);
  hf.send({ jsonrpc: '2.0', id: question.id, result: { roots: [] } });
  textOf(await hf.call('effect', { key: 'next' }));
  assert.equal(hf.server.count('stray answer', hf.server.pid()), 0, 'an answer to an old generation goes nowhere');
  await hf.finish();
});

test('unknown_methods_and_notifications_pass_through', async (t) => {
  const hf = await runReady(t);
  assert.deepEqual((await hf.request('odd/method', { a: 1 })).error, { code: -32601, message: 'no such method here' });
  hf.notify('notifications/odd', { n: 1.5 });
  await until(() => hf.server.events().some((e) => e.startsWith('got notifications/odd') && e.includes('1.5')), 'the odd notification');
  textOf(await hf.call('garbage', { kind: 'notification' }));
  assert.deepEqual((await hf.waitFor('notifications/never/heard')).params, { a: 1 });
  await hf.finish();
});

test('ping_is_answered_by_us_even_while_the_server_stands_still', async (t) => {
  const hf = run(t, { flags: ['--hang-start'], options: ['--list-wait-ms', '100'] });
  assert.deepEqual((await hf.request('ping')).result, {});
  await hf.finish();
});

test('roots_list_changed_reaches_the_server', async (t) => {
  const hf = await runReady(t, { capabilities: ALL });
  hf.notify('notifications/roots/list_changed');
  await until(() => hf.server.count('got notifications/roots/list_changed') === 1, 'the notification');
  await hf.finish();
});

test('log_messages_reach_the_client_and_the_level_is_set_again_on_the_next_generation', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY });
  assert.ok((await hf.request('logging/setLevel', { level: 'debug' })).result);
  textOf(await hf.call('log', { text: 'hello' }));
  assert.equal((await hf.waitFor('notifications/message')).params.data, 'hello');
  await hf.server.kill();
  textOf(await hf.call('effect', { key: 'k' }));
  await until(() => hf.server.count('level debug', hf.server.pid()) === 1, 'the level on the new server');
  await hf.finish();
});

// @field Y11: subscriptions are made again on every new generation
test('subscriptions_are_made_again_on_the_next_generation_and_ended_ones_are_not', async (t) => {
  const hf = await runReady(t, { options: NO_DELAY });
  for (const uri of ['effects://one', 'effects://two']) assert.ok((await hf.request('resources/subscribe', { uri })).result);
  assert.ok((await hf.request('resources/unsubscribe', { uri: 'effects://two' })).result);
  textOf(await hf.call('touch', { uri: 'effects://one' }));
  assert.deepEqual((await hf.waitFor('notifications/resources/updated')).params, { uri: 'effects://one' });
  await hf.server.kill();
  textOf(await hf.call('effect', { key: 'k' }));
  const pid = hf.server.pid();
  await until(() => hf.server.count('subscribe effects://one', pid) === 1, 'the subscription on the new server');
  textOf(await hf.call('touch', { uri: 'effects://one' }));
  await until(() => hf.count('notifications/resources/updated') === 2, 'the update from the new server');
  assert.equal(hf.server.count('subscribe effects://two', pid), 0);
  await hf.finish();
});

test('the_whole_environment_but_ours_reaches_the_server_of_run', async (t) => {
  const hf = await runReady(t, { env: { SECRET_OF_CLIENT: 's3cret', HOLDFAST_SECRET: 'ours' } });
  assert.equal(textOf(await hf.call('env', { name: 'SECRET_OF_CLIENT' })), 's3cret');
  for (const name of ['HOLDFAST_SECRET', 'HOLDFAST_STATE_DIR']) assert.equal(textOf(await hf.call('env', { name })), '(unset)');
  await hf.finish();
  assert.ok(!hf.stderr.includes('s3cret'));
});

// @field A16: a slow call stands in nobody's way
// @field X6: calls run beside each other; a slow one blocks neither calls nor cancels
test('calls_are_answered_as_they_finish_not_as_they_came', async (t) => {
  const hf = await runReady(t);
  const order = [];
  const slow = hf.call('slow', { ms: 300, key: 'slow' }).then(() => order.push('slow'));
  const quick = hf.call('effect', { key: 'quick' }).then(() => order.push('quick'));
  await Promise.all([slow, quick]);
  assert.deepEqual(order, ['quick', 'slow']);
  await hf.finish();
});

test('a_thousand_calls_at_once_are_each_answered_once', async (t) => {
  const hf = await runReady(t);
  const calls = Array.from({ length: 1000 }, (_, i) => hf.call('effect', { key: `k${i}` }));
  for (const call of calls) textOf(await call);
  assert.equal(new Set(hf.server.effects()).size, 1000);
  assert.equal(hf.server.effects().length, 1000);
  await hf.finish();
});

test('a_stateful_server_that_restarted_says_so_once', async (t) => {
  const hf = await runReady(t, { options: [...NO_DELAY, '--stateful', 'true'] });
  await hf.server.kill();
  assertOurError(await hf.call('effect', { key: 'blind' }), -31010, { dispatched: false, retry: 'now' });
  textOf(await hf.call('effect', { key: 'knowing' }));
  assert.deepEqual(hf.server.effects(), ['knowing']);
  await hf.finish();
});
