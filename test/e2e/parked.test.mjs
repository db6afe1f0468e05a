// A legacy server asks its user something in the middle of a tool that has taken effect, and the client is a modern
// one: it hears the question as the answer to its call, and comes back with what the user said. Or not, or wrongly.
import test, { after, before } from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { assertOurError, readFailure, scratch, textOf, until } from './harness.mjs';
import { serve } from './http_harness.mjs';
import { SdkServer } from './sdk_harness.mjs';

const META = 'io.modelcontextprotocol/';
const ADA = { action: 'accept', content: { name: 'Ada' } };
const BOB = { action: 'accept', content: { name: 'Bob' } };

let nextId = 1;
/** tools/call as a modern client sends it; resolves with the JSON-RPC answer. */
async function send(gateway, name, args, more = {}, { endpoint = '/mcp/it', token, signal } = {}) {
  const id = nextId++;
  const meta = {
    [`${META}protocolVersion`]: '2026-07-28', [`${META}clientInfo`]: { name: 'e2e', version: '1' }, [`${META}clientCapabilities`]: { elicitation: {} },
  };
  const response = await fetch(`${gateway.origin}${endpoint}`, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name, ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta: meta, ...more } }),
  });
  const text = await response.text();
  const messages = text.startsWith('{') ? [text] : [...text.matchAll(/^data: (.+)$/gm)].map((match) => match[1]);
  const answers = messages.map((message) => JSON.parse(message)).filter((message) => message.method === undefined);
  assert.equal(answers.length, 1, text);
  assert.equal(answers[0].id, id);
  return readFailure(answers[0]);
}

/** The call that takes effect and asks: its question. */
async function ask(gateway, key, options) {
  const { result } = await send(gateway, 'book', { key }, {}, options);
  assert.equal(result?.resultType, 'input_required');
  const [[name, question], ...others] = Object.entries(result.inputRequests);
  assert.equal(others.length, 0);
  assert.equal(question.method, 'elicitation/create');
  assert.equal(question.params.message, 'Who?');
  const answer = (reply, { state = result.requestState, args = { key }, tool = 'book', ...rest } = options ?? {}) => (
    send(gateway, tool, args, { inputResponses: { [name]: reply }, requestState: state }, rest)
  );
  return { state: result.requestState, answer };
}

const token = (name) => {
  const secret = `hf_${createHash('sha256').update(name).digest('hex')}`;
  return { secret, entry: { name, hash: `sha256:${createHash('sha256').update(secret).digest('hex')}` } };
};

const said = (answer) => JSON.parse(textOf(answer));
const refused = (answer, ...codes) => assert.ok((codes.length ? codes : [-32602]).includes(answer.error?.code), JSON.stringify(answer));

for (const transport of ['stdio', 'http']) {
  const cleanups = [];
  const whole = { after: (fn) => cleanups.push(fn) };
  const named = (what) => `over_${transport}_${what}`;
  let server;
  let gateway;

  before(async () => {
    const dir = scratch();
    server = new SdkServer(dir, 'legacy', transport, `parked-${transport}`);
    if (server.isRemote) await server.start(whole);
    gateway = await serve(whole, { dir, servers: { it: server.config }, holdfast: { defaults: { reconnect: { minMs: 0 } } } });
  });
  after(async () => {
    await gateway?.finish();
    for (const fn of cleanups) await fn();
  });

  test(named('an_answer_goes_to_the_call_that_asked_and_it_took_effect_once'), async () => {
    const { answer } = await ask(gateway, 'answered');
    assert.deepEqual(said(await answer(ADA)), ADA);
    assert.equal(server.count('told answered accept'), 1);
    assert.equal(server.effects('answered'), 1);
  });

  test(named('a_user_who_declines_is_passed_on_and_it_took_effect_once'), async () => {
    const { answer } = await ask(gateway, 'declined');
    assert.deepEqual(said(await answer({ action: 'decline' })), { action: 'decline' });
    assert.equal(server.count('told declined decline'), 1);
    assert.equal(server.effects('declined'), 1);
  });

  test(named('the_same_answer_twice_gets_the_same_answer_and_it_took_effect_once'), async () => {
    const { answer } = await ask(gateway, 'twice');
    const both = await Promise.all([answer(ADA), answer(ADA)]);
    const late = await answer(ADA);
    for (const each of [...both, late]) assert.deepEqual(each.result, both[0].result);
    assert.deepEqual(said(late), ADA);
    assert.equal(server.count('told twice'), 1);
    assert.equal(server.effects('twice'), 1);
  });

  test(named('a_second_answer_that_differs_is_refused_and_the_first_one_counts'), async () => {
    const { answer } = await ask(gateway, 'differs');
    const first = await answer(ADA);
    assertOurError(await answer(BOB), -31008, { reason: 'answered_before' });
    assert.deepEqual((await answer(ADA)).result, first.result);
    assert.equal(server.count('told differs accept'), 1);
    assert.equal(server.effects('differs'), 1);
  });

  test(named('a_changed_state_is_refused_wherever_it_is_changed_and_the_true_one_still_counts'), async () => {
    const { state, answer } = await ask(gateway, 'tampered');
    for (let at = 0; at < state.length; at += 7) {
      const other = state[at] === '0' ? '1' : '0';
      const changed = `${state.slice(0, at)}${other}${state.slice(at + 1)}`;
      refused(await answer(ADA, { state: changed }), -32602, -31002); // one part says which holdfast made it
    }
    for (const wrong of ['', state.slice(1), state.slice(0, -1), `${state}0`]) refused(await answer(ADA, { state: wrong }));
    assert.equal(server.count('told tampered'), 0);
    assert.deepEqual(said(await answer(ADA)), ADA);
    assert.equal(server.effects('tampered'), 1);
  });

  test(named('a_state_for_another_tool_or_other_arguments_is_refused_and_nothing_runs'), async () => {
    const { answer } = await ask(gateway, 'bound');
    refused(await answer(ADA, { args: { key: 'unbound' } }));
    refused(await answer(ADA, { tool: 'ask_user' }));
    refused(await answer(ADA, { tool: 'pay' }));
    assert.equal(server.effects('unbound'), 0);
    assert.deepEqual(said(await answer(ADA)), ADA);
    assert.equal(server.effects('bound'), 1);
  });

  test(named('after_the_death_of_its_server_the_outcome_is_unknown_and_the_call_never_runs_again'), async () => {
    const { answer } = await ask(gateway, 'orphan');
    await server.kill();
    if (server.isRemote) await server.start(whole);
    assertOurError(await answer(ADA), -31002, { dispatched: true, evidence: 'dispatched' });
    assertOurError(await answer(ADA), -31002, { dispatched: true });
    assert.equal(textOf(await send(gateway, 'pay', { key: 'next' })), 'paid next');
    assert.equal(server.effects('orphan'), 1);
    assert.equal(server.count('told orphan'), 0);
  });
  test(named('a_state_of_another_client_or_another_holdfast_is_refused_and_nothing_runs'), async (t) => {
    const [mine, other] = [token('mine'), token('other')];
    const keys = { servers: { it: server.config }, holdfast: { tokens: [mine.entry, other.entry] } };
    const [one, two] = await Promise.all([serve(t, keys), serve(t, keys)]);
    const { state, answer } = await ask(one, 'foreign', { token: mine.secret });
    refused(await answer(ADA, { token: other.secret }));
    assertOurError(await send(two, 'book', { key: 'foreign' }, { inputResponses: {}, requestState: state }, { token: mine.secret }), -31002, {
      dispatched: true, reason: 'holdfast_restarted',
    });
    assert.equal(server.count('told foreign'), 0);
    assert.deepEqual(said(await answer(ADA, { token: mine.secret })), ADA);
    assert.equal(server.effects('foreign'), 1);
    await Promise.all([one.finish(), two.finish()]);
  });

  test(named('a_client_that_never_comes_has_its_call_cancelled_and_its_state_expires'), async (t) => {
    const short = await serve(t, { servers: { it: server.config }, options: ['--park-ms', '300'] });
    const { answer } = await ask(short, 'expired');
    await until(() => server.count('cancelled expired') === 1, 'the server to be told');
    refused(await answer(ADA));
    refused(await answer(ADA));
    assert.equal(server.count('told expired'), 0);
    assert.equal(server.effects('expired'), 1);
    await short.finish();
  });
}
