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
