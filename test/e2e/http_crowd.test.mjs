// A crowd of idle clients: small, in nobody's way, and gone without a trace.
import test from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import { PLAIN_HOLDFAST, textOf, until } from './harness.mjs';
import { httpServer, serve } from './http_harness.mjs';

const SESSIONS = 1000;
const STREAMS = 5000;
const RSS_KB = 40 * 1024;
const AT_ONCE = 100;

/** Runs `work(i)` for i below `count`, some at a time. */
async function each(count, work) {
  let next = 0;
  const worker = async () => { while (next < count) await work(next++); };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** A listening stream as bare as it gets: a socket whose head has come. Node's own client would cost us more than it tells. */
function listen(gateway, session) {
  return new Promise((done, fail) => {
    const socket = net.connect({ host: gateway.address, port: gateway.port });
    let text = '';
    socket.on('error', fail);
    socket.on('close', () => fail(new Error(`closed: ${text}`)));
    socket.on('data', (chunk) => {
      text += chunk;
      if (!text.includes('\r\n\r\n')) return;
      if (!/^HTTP\/1\.1 200 /.test(text) || !/text\/event-stream/.test(text)) fail(new Error(text));
      socket.removeAllListeners('data');
      socket.on('data', (more) => { socket.heard = (socket.heard ?? '') + more; });
      done(socket);
    });
    socket.write(`GET /mcp/http HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${session}\r\n`
      + 'MCP-Protocol-Version: 2025-11-25\r\n\r\n');
  });
}

test('five_thousand_idle_streams_and_a_thousand_sessions_stay_under_40_mb_and_leave_no_descriptor_behind', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } }, program: PLAIN_HOLDFAST });
  const worker = await gateway.join('/mcp/http');
  textOf(await worker.call('pay', { key: 'warm' }));
  const measure = async () => {
    const took = [];
    for (let i = 0; i < 200; i++) {
      const began = performance.now();
      textOf(await worker.call('echo', { text: 'hello' }));
      took.push(performance.now() - began);
    }
    return took.sort((a, b) => a - b)[took.length >> 2]; // whatever else the machine does is in the slower ones
  };
  const alone = await measure();
  const before = { rss: gateway.rssKb(), descriptors: gateway.descriptors() };

  const clients = Array.from({ length: SESSIONS }, () => gateway.client('/mcp/http'));
  await each(SESSIONS, async (i) => {
    await clients[i].initialize();
    clients[i].agent.destroy();
  });
  assert.equal(new Set(clients.map((client) => client.session)).size, SESSIONS);
  const streams = [];
  await each(STREAMS, async (i) => { streams.push(await listen(gateway, clients[i % SESSIONS].session)); });
  assert.equal(streams.length, STREAMS);
  assert.ok(gateway.descriptors() >= STREAMS, 'they are really open');

  const crowded = await measure();
  const rss = gateway.rssKb();
  t.diagnostic(`table: ${STREAMS} idle streams, ${SESSIONS} sessions: RSS ${rss} kB (${before.rss} kB before), a call ${crowded.toFixed(2)} ms (${alone.toFixed(2)} ms alone)`);
  assert.ok(rss < RSS_KB, `RSS ${rss} kB`);
  assert.ok(crowded < Math.max(5 * alone, alone + 20), `a call took ${crowded} ms in the crowd and ${alone} ms alone`);

  for (const stream of streams) stream.removeAllListeners('close').destroy();
  await until(() => gateway.descriptors() <= before.descriptors + 2, () => `descriptors to come back: ${gateway.descriptors()}, ${before.descriptors} before`);
  textOf(await worker.call('pay', { key: 'after' }));
  assert.deepEqual(server.effects, ['warm', 'after']);
  await gateway.finish();
});

test('a_client_that_does_not_read_is_cut_off_and_costs_the_others_nothing', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } }, program: PLAIN_HOLDFAST, holdfast: { maxBufferedBytes: 32 << 20 } });
  const client = await gateway.join('/mcp/http');
  const deaf = net.connect({ host: gateway.address, port: gateway.port });
  let isClosed = false;
  deaf.on('close', () => { isClosed = true; });
  deaf.on('error', () => {});
  deaf.pause();
  for (let i = 0; i < 60; i++) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: i, method: 'tools/call', params: { name: 'big', arguments: { key: `b${i}`, bytes: 1 << 20 } } });
    deaf.write(`POST /mcp/http HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nMcp-Session-Id: ${client.session}\r\nContent-Type: application/json\r\n`
      + `Accept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  }
  await until(() => server.effects.length > 0, 'its calls to run');
  for (let i = 0; i < 50; i++) textOf(await client.call('echo', { text: 'hello' }));
  assert.ok(gateway.rssKb() < 160 * 1024, `RSS ${gateway.rssKb()} kB`);
  deaf.destroy();
  await until(() => isClosed, 'the end');
  await gateway.finish();
});

// More streams than are told, or written to, in one turn.
test('news_for_a_crowd_reach_each_stream_once_and_hold_up_no_call', async (t) => {
  const server = await httpServer(t, { hasGet: true });
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const worker = await gateway.join('/mcp/http');
  await until(() => server.count('GET') >= 1, 'holdfast to listen');
  const clients = Array.from({ length: 400 }, () => gateway.client('/mcp/http'));
  const streams = [];
  await each(clients.length, async (i) => {
    await clients[i].initialize();
    assert.ok((await clients[i].request('resources/subscribe', { uri: 'test://watched' })).result);
    clients[i].agent.destroy();
    streams.push(await listen(gateway, clients[i].session));
  });
  const heard = (stream, what) => (stream.heard ?? '').split(what).length - 1;
  const tell = async (method, params, times) => {
    server.announce(method, params);
    textOf(await worker.call('echo', { text: 'in the middle of it' }));
    await until(() => streams.every((stream) => heard(stream, method) >= times), () => `all to hear ${method}; ${streams.filter((s) => heard(s, method) >= times).length} have`);
  };
  for (let round = 1; round <= 3; round++) {
    server.tools = [...server.tools, { name: `newcomer${round}`, inputSchema: { type: 'object' } }];
    await tell('notifications/tools/list_changed', undefined, round);
    await tell('notifications/resources/updated', { uri: 'test://watched' }, round);
  }
  for (const method of ['notifications/tools/list_changed', 'notifications/resources/updated']) {
    assert.deepEqual([...new Set(streams.map((stream) => heard(stream, method)))], [3]);
  }
  for (const stream of streams) stream.removeAllListeners('close').destroy();
  await gateway.finish();
});
