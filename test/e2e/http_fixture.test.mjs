// The HTTP servers that the other tests trust: each does what it says, seen without holdfast in between.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { textOf, until } from './harness.mjs';
import { HttpClient, certificates, httpServer, sseServer } from './http_harness.mjs';

/** A client straight at the fixture, with a connection for each request. */
async function direct(t, server) {
  const place = { scheme: server.tls ? 'https' : 'http', address: '127.0.0.1', port: server.port };
  if (server.tls) place.ca = fs.readFileSync(certificates().ca);
  const client = new HttpClient(place, '/mcp');
  client.agent = new (server.tls ? https : http).Agent();
  t.after(() => client.leave());
  await client.initialize();
  return client;
}

for (const status of [400, 401, 403, 404]) {
  test(`the_fixture_says_${status}_to_a_session_it_forgot_and_runs_nothing`, async (t) => {
    const server = await httpServer(t, { unknown: status });
    const client = await direct(t, server);
    assert.equal(textOf(await client.call('pay', { key: 'a' })), 'paid a');
    await server.restart();
    for (const method of ['tools/call', 'ping']) {
      const refused = client.request(method, { name: 'pay', arguments: { key: 'b' } }).trip;
      await refused.ended;
      assert.equal(refused.status, status);
    }
    assert.deepEqual(server.effects, ['a']);
    assert.equal(server.delivered('b'), 2);
  });
}

for (const style of ['json', 'sse']) {
  test(`the_sdk_client_speaks_with_the_fixture_that_answers_in_${style}`, async (t) => {
    const server = await httpServer(t, { style, hasGet: true, hasIds: true });
    const client = new Client({ name: 'sdk', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }));
    const transport = new StreamableHTTPClientTransport(new URL(server.url));
    t.after(() => client.close());
    await client.connect(transport);
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    assert.ok(names.includes('pay') && names.includes('come_back'));
    assert.equal((await client.callTool({ name: 'pay', arguments: { key: 'k' } })).content[0].text, 'paid k');
    const asked = await client.callTool({
      name: 'ask', arguments: { key: 'q', method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } } },
    });
    assert.equal(JSON.parse(asked.content[0].text).result.content.name, 'Ada');
    const back = client.callTool({ name: 'come_back', arguments: { key: 'later', retryMs: 10 } });
    await until(() => server.deliveries.some((d) => d.verb === 'GET' && d.headers['last-event-id']), 'the client to come back');
    server.release('later');
    assert.equal((await back).content[0].text, 'paid later');
    const seen = [];
    await client.callTool({ name: 'progress', arguments: { key: 'p', n: 3 } }, undefined, { onprogress: (p) => seen.push(p.progress) });
    assert.deepEqual(seen, [1, 2, 3]);
    await transport.terminateSession();
    assert.equal(server.count('DELETE'), 1);
    assert.deepEqual(server.effects, ['k', 'q', 'later', 'p']);
  });
}

test('the_sdk_client_speaks_with_the_old_http_and_sse_fixture', async (t) => {
  const server = await sseServer(t);
  const client = new Client({ name: 'sdk', version: '1' });
  t.after(() => client.close());
  await client.connect(new SSEClientTransport(new URL(server.url)));
  assert.equal((await client.callTool({ name: 'pay', arguments: { key: 'k' } })).content[0].text, 'paid k');
  assert.deepEqual(server.effects, ['k']);
});

test('each_way_of_not_answering_is_what_it_says_plain_and_tls', async (t) => {
  for (const tls of [undefined, certificates().pair]) {
    const server = await httpServer(t, { tls });
    const client = await direct(t, server);
    const lost = async (name, args, check) => {
      const call = client.call(name, { key: name, ...args });
      await assert.rejects(call);
      await call.trip.ended;
      check?.(call.trip);
      assert.equal(server.ran(name), 1);
    };
    await lost('close_without_answer', {}, (trip) => assert.equal(trip.status, undefined));
    await lost('reset_without_answer', {}, (trip) => assert.equal(trip.status, undefined));
    await lost('status', { status: 403 }, (trip) => assert.equal(trip.status, 403));
    await lost('cut_answer', { bytes: 25 }, (trip) => assert.equal(trip.status, undefined));
    await lost('cut_stream', { hasIds: false }, (trip) => { assert.equal(trip.status, 200); assert.equal(trip.events.length, 0); });
    assert.equal(textOf(await client.call('answer_then_reset', { key: 'ok' })), 'paid ok');
    assert.equal(textOf(await client.call('answer_then_close', { key: 'ok2' })), 'paid ok2');
  }
});

test('a_cut_stream_with_ids_gives_its_answer_to_whoever_resumes_it', async (t) => {
  const server = await httpServer(t);
  const client = await direct(t, server);
  const call = client.call('cut_stream', { key: 'k', hasIds: true });
  await assert.rejects(call);
  assert.equal(call.trip.events.length, 1);
  const again = await client.listen(call.trip.events[0].id);
  assert.equal(textOf(await again.answer(call.id)), 'paid k');
  await again.ended;
  assert.deepEqual(server.effects, ['k']);
});

test('a_stopped_fixture_refuses_connections_and_comes_back_on_the_same_port', async (t) => {
  const server = await httpServer(t);
  const client = await direct(t, server);
  await server.stop();
  const call = client.call('pay', { key: 'no' });
  await assert.rejects(call);
  assert.match(String(call.trip.error), /ECONNREFUSED|ECONNRESET|hang up/);
  await server.start();
  await client.initialize();
  textOf(await client.call('pay', { key: 'yes' }));
  assert.deepEqual(server.effects, ['yes']);
});
