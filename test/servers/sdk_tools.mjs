// sdk_tools.mjs - what the servers on the official SDKs offer, the same on both: tools, one prompt, one resource.
//
// A tool is run(args, ctx). ctx is made by sdk_legacy.mjs or sdk_modern.mjs and has
//   progress(n, total)   log(level, text)   signal     ask(method, params): the client's answer
//   changed()            updated(uri)       protocolError(code, message, data)
// A modern server cannot wait for an answer: there `ask` leaves the tool, which runs again when the client
// has answered. So a tool that asks takes effect after it, except `book`, which is the point of that one.
import fs from 'node:fs';

const option = (name) => process.argv[process.argv.indexOf(name) + 1];
const files = { effect: option('--effects'), instance: option('--instance-log'), event: option('--event-log') };
// One write each: lines of several processes never mix.
export const note = (event) => fs.appendFileSync(files.event, `${process.pid} ${event}\n`);
/** What came in, and if it is a wish to hear news, of what. */
export function noteGot(message, verb = 'answer') {
  const news = message?.method === 'subscriptions/listen' ? ` ${JSON.stringify(message.params.notifications)}` : '';
  note(`got ${message?.method ?? verb}${news}`);
}
const effect = (key) => fs.appendFileSync(files.effect, `${key} ${process.pid} ${process.hrtime.bigint()}\n`);
export const born = () => fs.appendFileSync(files.instance, `start ${process.pid} ${process.hrtime.bigint()}\n`);

const text = (value) => ({ content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] });
const schema = (...names) => ({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) });

const held = new Map(); // key -> what lets it go
const hold = (key, signal) => new Promise((done) => {
  held.set(key, () => { held.delete(key); done(); });
  signal.addEventListener('abort', () => {
    if (held.has(key)) note(`cancelled ${key}`);
    held.get(key)?.();
  });
  note(`holds ${key}`);
});

const FORM = {
  mode: 'form', message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const PROMPT = { messages: [{ role: 'user', content: { type: 'text', text: 'Capital of France?' } }], maxTokens: 20 };

const TOOLS = {
  pay: [schema('key'), ({ key }) => { effect(key); return text(`paid ${key}`); }],
  steps: [schema('key'), async ({ key }, ctx) => {
    for (let i = 1; i <= 3; i++) await ctx.progress(i, 3);
    await hold(key, ctx.signal); // clients forget progress that comes in one piece with the answer
    effect(key);
    return text(`took 3 steps for ${key}`);
  }],
  wait: [schema('key'), async ({ key }, ctx) => {
    await hold(key, ctx.signal);
    if (!ctx.signal.aborted) effect(key);
    return text(`waited for ${key}`);
  }],
  release: [schema('key'), ({ key }) => { held.get(key)?.(); return text(`released ${key}`); }],
  ask_user: [schema('key'), async ({ key }, ctx) => {
    const reply = await ctx.ask('elicitation/create', FORM);
    effect(key);
    return text(reply);
  }],
  ask_model: [schema('key'), async ({ key }, ctx) => {
    const reply = await ctx.ask('sampling/createMessage', PROMPT);
    effect(key);
    return text(reply.content.text);
  }],
  ask_roots: [schema('key'), async ({ key }, ctx) => {
    const reply = await ctx.ask('roots/list');
    effect(key);
    return text(reply.roots.map((root) => root.uri));
  }],
  book: [schema('key'), async ({ key }, ctx) => {
    effect(key);
    note(`asks ${key}`);
    ctx.signal.addEventListener('abort', () => note(`cancelled ${key}`));
    const reply = await ctx.ask('elicitation/create', FORM);
    note(`told ${key} ${reply.action}`);
    return text(reply);
  }],
  add_tool: [schema('name'), async ({ name }, ctx) => {
    TOOLS[name] = TOOLS.pay;
    await ctx.changed();
    return text(`added ${name}`);
  }],
  touch: [schema('uri'), async ({ uri }, ctx) => { await ctx.updated(uri); return text(`touched ${uri}`); }],
  say: [schema('text'), async ({ text: words }, ctx) => {
    await ctx.log('debug', `${words}, whispered`);
    await ctx.log('error', words);
    return text('said');
  }],
  fail: [schema('text'), ({ text: words }) => ({ ...text(words), isError: true })],
  refuse: [schema('text'), ({ text: words }, ctx) => { throw ctx.protocolError(4711, words, { why: [1.5, null, 'ü'] }); }],
};

const RESOURCE = { uri: 'note://one', name: 'one', mimeType: 'text/plain' };

export const toolList = () => Object.entries(TOOLS).map(([name, [inputSchema]]) => ({ name, description: `does ${name}`, inputSchema }));
export const runTool = ({ name, arguments: args = {} }, ctx) => {
  if (!TOOLS[name]) throw ctx.protocolError(-32602, `no tool ${name}`);
  return TOOLS[name][1](args, ctx);
};
export const promptList = () => [{ name: 'greet', description: 'says hello', arguments: [{ name: 'who', required: false }] }];
export const getPrompt = ({ arguments: { who = 'nobody' } = {} }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello ${who}` } }] });
export const resourceList = () => [RESOURCE];
export const templateList = () => [{ uriTemplate: 'note://{name}', name: 'any' }];
/** undefined: there is none. */
export const readResource = ({ uri }) => (uri === RESOURCE.uri ? { contents: [{ ...RESOURCE, text: 'the text of one' }] } : undefined);
