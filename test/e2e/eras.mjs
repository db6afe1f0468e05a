// eras.mjs - what every client must be able to do with every server, whatever eras the two speak and however they
// are reached. The table is client × server × way to the server × front; each cell does all of this.
import test from 'node:test';
import assert from 'node:assert/strict';
import { until } from './harness.mjs';
import { GUESTS, Guest } from './sdk_harness.mjs';

const parsed = async (answer) => JSON.parse(await answer);
const failure = (answer) => answer.then((result) => assert.fail(`expected an error, got ${JSON.stringify(result)}`), (error) => error);

/** What it can do; each with a key of its own, which takes effect exactly as often as the entry says. */
export const ABILITIES = {
  async lists_what_the_server_offers({ guest }) {
    const names = await guest.toolNames();
    for (const name of ['pay', 'ask_user', 'refuse']) assert.ok(names.includes(name), names.join(' '));
    assert.deepEqual((await guest.client.listPrompts()).prompts.map((prompt) => prompt.name), ['greet']);
    assert.deepEqual((await guest.client.listResources()).resources.map((resource) => resource.uri), ['note://one']);
    assert.deepEqual((await guest.client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate), ['note://{name}']);
    assert.equal(guest.client.getInstructions(), 'Ask before you pay.');
  },
  async calls_a_tool_once({ guest, key, effects }) {
    assert.equal(await guest.text('pay', { key }), `paid ${key}`);
    assert.equal(effects(), 1);
  },
  async gets_a_prompt_and_reads_a_resource({ guest }) {
    const { messages } = await guest.client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } });
    assert.equal(messages[0].content.text, 'Hello Ada');
    const { contents } = await guest.client.readResource({ uri: 'note://one' });
    assert.equal(contents[0].text, 'the text of one');
  },
  async sees_the_progress_of_its_call({ guest, key, effects }) {
    const steps = [];
    const call = guest.text('steps', { key }, { onprogress: (step) => steps.push([step.progress, step.total]) });
    await until(() => steps.length === 3, () => `three steps; came ${JSON.stringify(steps)}`);
    await guest.call('release', { key });
    assert.equal(await call, `took 3 steps for ${key}`);
    assert.deepEqual(steps, [[1, 3], [2, 3], [3, 3]]);
    assert.equal(effects(), 1);
  },
  async cancels_its_call_at_the_server({ guest, server, key, effects }) {
    const abort = new AbortController();
    const call = guest.call('wait', { key }, { signal: abort.signal });
    const failed = failure(call);
    await until(() => server.count(`holds ${key}`) === 1, 'the call to be held');
    abort.abort('no more need');
    await failed;
    await until(() => server.count(`cancelled ${key}`) === 1, 'the server to be told');
    assert.equal(await guest.text('release', { key: 'nobody' }), 'released nobody', 'the server serves on');
    assert.equal(effects(), 0);
  },
  async is_asked_by_a_tool_and_accepts({ guest, key, effects }) {
    assert.deepEqual(await parsed(guest.text('ask_user', { key })), { action: 'accept', content: { name: 'Ada' } });
    assert.equal(effects(), 1);
  },
  async is_asked_by_a_tool_and_declines({ guest, key, effects }) {
    guest.replies['elicitation/create'] = () => ({ action: 'decline' });
    assert.deepEqual(await parsed(guest.text('ask_user', { key })), { action: 'decline' });
    assert.equal(effects(), 1);
  },
  async is_asked_by_a_tool_and_cancels({ guest, key, effects }) {
    guest.replies['elicitation/create'] = () => ({ action: 'cancel' });
    assert.deepEqual(await parsed(guest.text('ask_user', { key })), { action: 'cancel' });
    assert.equal(effects(), 1);
  },
  async is_asked_to_sample({ guest, key, effects }) {
    let asked;
    guest.replies['sampling/createMessage'] = (params) => {
      asked = params;
      return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Paris' } };
    };
    assert.equal(await guest.text('ask_model', { key }), 'Paris');
    assert.equal(asked.messages[0].content.text, 'Capital of France?');
    assert.equal(asked.maxTokens, 20);
    assert.equal(effects(), 1);
  },
  async is_asked_for_its_roots({ guest, key, effects }) {
    assert.deepEqual(await parsed(guest.text('ask_roots', { key })), ['file:///project']);
    assert.equal(effects(), 1);
  },
  async learns_that_the_tools_changed({ guest, server, key }) {
    await guest.listen();
    await server.hears();
    const before = guest.told('notifications/tools/list_changed').length;
    await guest.call('add_tool', { name: key });
    await until(() => guest.told('notifications/tools/list_changed').length > before, () => `the news; came ${JSON.stringify(guest.news)}`);
    assert.ok((await guest.toolNames()).includes(key));
    assert.equal(await guest.text(key, { key: 'new' }), 'paid new');
  },
  async learns_that_a_resource_changed({ guest, server, key }) {
    const uri = `note://${key}`;
    await guest.listen(uri);
    await server.hears(uri);
    await guest.call('touch', { uri: 'note://nobody-asked' });
    await guest.call('touch', { uri });
    await guest.waitFor('notifications/resources/updated', (params) => params.uri === uri);
    assert.deepEqual(guest.told('notifications/resources/updated').map((params) => params.uri), [uri]);
  },
  async hears_log_messages_of_the_level_it_wants({ guest, key }) {
    const meta = await guest.wantLogs('warning');
    await guest.call('say', { text: key }, { meta });
    await guest.waitFor('notifications/message', (params) => params.data === key && params.level === 'error' && params.logger === 'sdk');
    assert.deepEqual(guest.told('notifications/message').map((params) => params.data), [key]);
  },
  async is_told_of_errors_as_they_are({ guest, server }) {
    const failed = await guest.call('fail', { text: 'no money' });
    assert.equal(failed.isError, true);
    assert.equal(failed.content[0].text, 'no money');
    const refused = await failure(guest.call('refuse', { text: 'not today' }));
    assert.equal(refused.code, 4711);
    assert.match(refused.message, /not today$/);
    assert.deepEqual(refused.data, { why: [1.5, null, 'ü'] });
    const missing = await failure(guest.client.readResource({ uri: 'note://missing' }));
    // the v2 client itself takes the old code for the new one
    assert.equal(missing.code, guest.isV1 && server.era === 'legacy' ? -32002 : -32602, missing.message);
  },
};

/** Every cell behind one front. `connect` takes (t, guest, era, transport) to a server, which it returns. */
export function table(front, connect) {
  for (const kind of Object.keys(GUESTS)) {
    for (const era of ['legacy', 'modern']) {
      for (const transport of ['stdio', 'http']) {
        const cell = `a_${kind}_client_over_${front}_before_a_${era}_server_over_${transport}`;
        test(cell, async (t) => {
          const guest = new Guest(kind);
          const server = await connect(t, guest, era, transport);
          for (const [ability, prove] of Object.entries(ABILITIES)) {
            const key = `${kind}-${ability}`;
            await t.test(`${cell}_${ability}`, { timeout: 60000 }, () => prove({ guest, server, key, effects: () => server.effects(key) }));
          }
          await guest.leave();
        });
      }
    }
  }
}
