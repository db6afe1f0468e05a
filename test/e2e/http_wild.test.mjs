// Remote servers as they are in the wild: nothing wrong with their answers but the manner in which they come.
import test from 'node:test';
import assert from 'node:assert/strict';
import { textOf } from './harness.mjs';
import { certificates, connectedTo, httpServer } from './http_harness.mjs';

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
