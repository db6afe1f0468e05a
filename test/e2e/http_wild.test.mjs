// Remote servers as they are in the wild: nothing wrong with their answers but the manner in which they come.
import test from 'node:test';
import assert from 'node:assert/strict';
import { assertOurError, textOf } from './harness.mjs';
import { certificates, connectedTo, httpServer, stdioTo } from './http_harness.mjs';

const secure = () => [{ tls: certificates().pair }, { ca: certificates().ca }];

for (const [words, options, keys] of [['', {}, {}], ['_over_tls', ...secure()]]) {
  test(`a_server_that_closes_after_each_answer_without_saying_so_is_served${words}`, async (t) => {
    const server = await httpServer(t, options);
    server.front = (x) => { // the end of the connection follows the answer, and meets the next request
      const { socket } = x;
      x.response.on('finish', () => socket.end());
      return false;
    };
    const hf = await connectedTo(t, server, keys);
    for (let i = 0; i < 20; i++) assert.equal(textOf(await hf.call('pay', { key: `k${i}` })), `paid k${i}`);
    for (let i = 0; i < 20; i++) assert.equal(server.delivered(`k${i}`), 1);
    await hf.finish();
  });
}

/** How else the body of a good answer may look: [content type, body made of its JSON]. */
const MANNERS = {
  'begins_with_a_mark_of_its_encoding': ['application/json', (json) => `\uFEFF${json}`],
  'is_a_batch_of_one': ['application/json', (json) => `[${json}]`],
  'is_a_batch_in_an_event': ['text/event-stream', (json) => `data: [${json}]\n\n`],
  'has_its_id_in_quotes': ['application/json; charset=utf-8', (json) => json.replace(/"id":(\d+)/, '"id":"$1"')],
  'has_no_type': ['', (json) => json],
};
for (const [manner, [type, dress]] of Object.entries(MANNERS)) {
  test(`an_answer_counts_that_${manner}`, async (t) => {
    const server = await httpServer(t);
    server.front = (x) => {
      const status = x.status.bind(x);
      x.status = (code, { headers, body = '' } = {}) => {
        if (code !== 200 || typeof body === 'string') return status(code, { headers, body });
        return status(code, { headers: { ...headers, 'content-type': type }, body: dress(JSON.stringify(body)) });
      };
      return false;
    };
    const hf = await connectedTo(t, server);
    assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
    assert.equal(server.delivered('k'), 1);
    await hf.finish();
  });
}

test('a_redirect_of_the_greeting_is_followed_and_calls_go_where_it_leads', async (t) => {
  for (const status of [307, 308]) {
    for (const location of ['/real', 'real', undefined]) {
      const server = await httpServer(t);
      const url = server.url;
      server.path = '/real';
      server.front = (x) => x.request.url === '/mcp' && (x.status(status, { headers: { location: location ?? server.url } }), true);
      const hf = await connectedTo(t, server, { url });
      assert.equal(textOf(await hf.call('pay', { key: 'k' })), 'paid k');
      assert.equal(server.delivered('k'), 1, 'a call is not sent to where it would be turned away');
      await hf.finish();
    }
  }
});

test('a_redirect_to_another_host_is_not_followed_and_says_what_to_do', async (t) => {
  const [server, other] = [await httpServer(t), await httpServer(t)];
  server.front = (x) => (x.status(307, { headers: { location: other.url } }), true);
  const hf = stdioTo(t, server, { headers: { Authorization: 'Bearer for-one-host' }, reconnect: { minMs: 60000, jitter: 0 }, waitMs: 100, listWaitMs: 50 });
  await hf.initialize();
  const answer = await hf.call('pay', { key: 'k' });
  assertOurError(answer, -31001, { dispatched: false, evidence: 'unsent' });
  assert.match(answer.error.message, /set its url/);
  assert.deepEqual(other.deliveries, []);
  await hf.finish();
});

test('a_redirect_without_end_is_given_up_and_one_of_a_call_is_not_followed', async (t) => {
  const server = await httpServer(t);
  let hops = 0;
  server.front = (x) => (x.status(307, { headers: { location: `/mcp?${++hops}` } }), true);
  const lost = stdioTo(t, server, { reconnect: { minMs: 60000, jitter: 0 }, waitMs: 100, listWaitMs: 50 });
  await lost.initialize();
  assertOurError(await lost.call('pay', { key: 'k' }), -31001, { dispatched: false, evidence: 'unsent' });
  assert.ok(hops < 30, `${hops} hops`);
  await lost.finish();
  server.front = (x) => x.message.method === 'tools/call' && (x.status(307, { headers: { location: '/mcp' } }), true);
  const hf = await connectedTo(t, server);
  assertOurError(await hf.call('pay', { key: 'k' }), -31009, { dispatched: true, retry: 'check_first' });
  assert.equal(server.delivered('k'), 1);
  await hf.finish();
});

test('requests_say_who_asks_and_that_nothing_is_to_be_compressed', async (t) => {
  const server = await httpServer(t);
  await (await connectedTo(t, server)).finish();
  assert.ok(server.count('DELETE') === 1 && server.count('GET') === 1);
  for (const { headers } of server.deliveries) {
    assert.match(headers['user-agent'], /^holdfast\/\d/);
    assert.equal(headers['accept-encoding'], 'identity');
  }
  const other = await httpServer(t);
  await (await connectedTo(t, other, { headers: { 'User-Agent': 'mine' } })).finish();
  for (const { headers } of other.deliveries) assert.equal(headers['user-agent'], 'mine');
});
