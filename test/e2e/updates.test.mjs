// Updates of resources: whoever subscribed hears of them, and nobody else.
import test from 'node:test';
import assert from 'node:assert/strict';
import { textOf } from './harness.mjs';
import { serve } from './http_harness.mjs';

const UPDATED = 'notifications/resources/updated';
const heard = (client) => client.messages.filter((m) => m.method === UPDATED).map((m) => m.params.uri);

/** A client with an open stream that follows `uri`, or nothing. */
async function follower(hf, endpoint, uri) {
  const client = await hf.join(endpoint);
  await client.listen();
  await client.request('resources/list'); // whose they are is known from here on
  if (uri) assert.ok((await client.request('resources/subscribe', { uri })).result);
  return client;
}

for (const [endpoint, prefix] of [['/mcp/s', ''], ['/mcp', 's__']]) {
  test(`what_one_client_of_${endpoint.replaceAll('/', '_')}_follows_is_told_to_nobody_else`, async (t) => {
    const hf = await serve(t, { servers: { s: { flags: [] } } });
    const first = await follower(hf, endpoint, 'effects://one');
    const second = await follower(hf, endpoint, 'effects://two');
    const third = await follower(hf, endpoint);
    for (let round = 1; round <= 3; round++) {
      textOf(await third.call(`${prefix}touch`, { uri: 'effects://one' }));
      textOf(await third.call(`${prefix}touch`, { uri: 'effects://two' }));
      await first.waitFor(UPDATED, () => heard(first).length >= round);
      await second.waitFor(UPDATED, () => heard(second).length >= round); // it would have heard of `one` before
    }
    assert.deepEqual(heard(first), Array(3).fill('effects://one'));
    assert.deepEqual(heard(second), Array(3).fill('effects://two'));
    assert.deepEqual(heard(third), []);
    await hf.finish();
  });
}
