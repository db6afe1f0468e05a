// model.mjs - a language model that is a script: a loopback endpoint that speaks the four APIs the agents know.
//
// 1. A request that offers our tool is the agent's main conversation. It is answered with the next tool call of the
//    script, counted by the results that stand in the conversation; after the last one with a word that ends the turn.
// 2. What the agent hands back as a tool's result is kept in `told`, word for word: that is what a model would read.
// 3. Anything else an agent asks (titles, token counts, lists of models) gets a short, valid answer.
import http from 'node:http';
import { randomBytes } from 'node:crypto';
import { json } from 'node:stream/consumers';

const LAST_WORD = 'All done.';
const textOf = (content) => (typeof content === 'string' ? content : [content].flat().map((part) => part.text ?? JSON.stringify(part)).join('\n'));
const sse = (events) => events.map(([type, data]) => `${type ? `event: ${type}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join('');

/** Each API: which URL, what a request offers and tells, and how a tool call or a last word is said. */
const APIS = {
  messages: {
    fits: (url) => url.endsWith('/v1/messages'),
    names: ({ tools = [] }) => tools.map((tool) => tool.name),
    results: ({ messages }) => messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .filter((part) => part.type === 'tool_result').map((part) => ({ id: part.tool_use_id, text: textOf(part.content), isError: part.is_error })),
    say({ model, stream }, call) {
      const block = call ? { type: 'tool_use', id: call.id, name: call.name, input: call.args } : { type: 'text', text: LAST_WORD };
      const message = {
        id: `msg_${call?.id ?? 'last'}`, type: 'message', role: 'assistant', model, content: [block],
        stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null, usage: { input_tokens: 10, output_tokens: 10 },
      };
      if (!stream) return message;
      const begun = call ? { ...block, input: {} } : { ...block, text: '' };
      const delta = call ? { type: 'input_json_delta', partial_json: JSON.stringify(call.args) } : { type: 'text_delta', text: LAST_WORD };
      const events = [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: begun },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } },
        { type: 'message_stop' },
      ];
      return sse(events.map((event) => [event.type, event]));
    },
  },
  responses: {
    fits: (url) => url.endsWith('/v1/responses'),
    // tools of one server may stand in a namespace
    names: ({ tools = [] }) => tools.flatMap((tool) => (tool.tools ?? [tool]).map((each) => (tool.tools ? { namespace: tool.name, name: each.name } : each.name))),
    results: ({ input }) => input.filter((item) => item.type === 'function_call_output').map((item) => ({ id: item.call_id, text: textOf(item.output) })),
    say({ model }, call) {
      const item = call
        ? { type: 'function_call', id: `fc_${call.id}`, call_id: call.id, ...call.full, arguments: JSON.stringify(call.args), status: 'completed' }
        : { type: 'message', id: 'msg_last', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: LAST_WORD, annotations: [] }] };
      const response = { id: `resp_${call?.id ?? 'last'}`, object: 'response', model, status: 'in_progress', output: [] };
      const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 10, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 20 };
      const events = [
        { type: 'response.created', response },
        { type: 'response.output_item.added', output_index: 0, item },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
      ];
      return sse(events.map((event) => [event.type, event]));
    },
  },
  gemini: {
    fits: (url) => /:(streamG|g)enerateContent/.test(url),
    isStream: (url) => url.includes(':stream'),
    names: ({ tools = [] }) => tools.flatMap((tool) => tool.functionDeclarations ?? []).map((tool) => tool.name),
    // the id stays with the agent: results are told apart by their order
    results: ({ contents }, ours) => contents.flatMap(({ parts = [] }) => parts).map((part) => part.functionResponse)
      .filter((part) => part && ours(part.name)).map(({ response }, i) => ({ order: i, text: textOf(response.output ?? response.error ?? JSON.stringify(response)), isError: 'error' in response })),
    say(body, call, url) {
      const part = call ? { functionCall: { name: call.name, args: call.args } } : { text: LAST_WORD };
      const answer = {
        candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
      };
      return this.isStream(url) ? sse([[undefined, answer]]) : answer;
    },
  },
  chat: {
    fits: (url) => url.endsWith('/chat/completions'),
    names: ({ tools = [] }) => tools.map((tool) => tool.function.name),
    results: ({ messages }) => messages.filter((message) => message.role === 'tool').map((message) => ({ id: message.tool_call_id, text: textOf(message.content) })),
    say({ model, stream }, call) {
      const made = call && [{ index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } }];
      const message = call ? { role: 'assistant', content: null, tool_calls: made } : { role: 'assistant', content: LAST_WORD };
      const reason = call ? 'tool_calls' : 'stop';
      const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
      const base = { id: `chatcmpl-${call?.id ?? 'last'}`, created: 1, model };
      if (!stream) return { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: reason }], usage };
      const chunk = (delta, finish) => [undefined, { ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], usage: finish ? usage : undefined }];
      return sse([chunk(message, null), chunk({}, reason), [undefined, '[DONE]']]);
    },
  },
};

export class Model {
  /**
   * `script`: [{ tool, args, around }]; `around` gets a function that lets the agent have this call, and whose promise is
   * kept when the agent's model is told the result.
   */
  constructor(script) {
    this.script = script.map((step, i) => ({ around: (call) => call(), ...step, id: `call_${i}${randomBytes(12).toString('hex')}` }));
    this.told = []; // by step
    this.hears = []; // by step: who waits for it
    this.missing = undefined; // the tools that were offered when ours was not
    this.requests = [];
  }
  async start() {
    this.server = http.createServer((request, response) => {
      this.#take(request, response).catch((error) => { this.broken = error; response.destroy(); });
    });
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }
  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
  async #take(request, response) {
    const body = request.method === 'POST' ? await json(request).catch(() => ({})) : undefined;
    this.requests.push(`${request.method} ${request.url}`);
    const { pathname } = new URL(request.url, 'http://x');
    const api = body && Object.values(APIS).find((each) => each.fits(pathname));
    const answer = api ? await this.#answer(api, body, request.url) : { object: 'list', data: [], models: [], input_tokens: 10, totalTokens: 10 };
    const isStream = typeof answer === 'string';
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? answer : JSON.stringify(answer));
  }
  /** As the agent calls our tool: its name, with the server's (`hf`) before it or not. */
  #find(names, tool) {
    return names.find((each) => (each.name ?? each).replace(/^(mcp_+)?hf_+/, '') === tool);
  }
  /** Resolves when the agent may have this call. */
  #let(step, i) {
    return new Promise((ready, fail) => {
      Promise.resolve(step.around(() => {
        ready();
        return new Promise((hear) => { this.hears[i] = hear; });
      })).catch(fail);
    });
  }
  async #answer(api, body, url) {
    const names = api.names(body);
    const ours = (name) => this.script.some((step) => this.#find([name], step.tool));
    for (const result of api.results(body, ours)) {
      const step = result.order ?? this.script.findIndex(({ id }) => id === result.id);
      if (step < 0 || this.told[step]) continue;
      this.told[step] = result;
      this.hears[step]?.(result);
    }
    const next = this.script.findIndex((_, i) => this.told[i] === undefined);
    const step = this.script[next];
    const full = step && this.#find(names, step.tool);
    if (step && !full && names.length > 0) this.missing = names.map((each) => each.name ?? each);
    if (!full) return api.say(body, undefined, url);
    await (step.ready ??= this.#let(step, next));
    const name = full.name ?? full;
    return api.say(body, { id: step.id, name, full: full.name ? full : { name }, args: step.args }, url);
  }
}
