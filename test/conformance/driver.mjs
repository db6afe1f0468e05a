// driver.mjs - lets the conformance suite's client mode judge what a proxy sends to its servers.
//
//   the suite's mock server  <── HTTP ──  `holdfast bridge URL`  <── stdio ──  this driver, an ordinary SDK client
//
// The suite starts one mock server for each scenario and runs this program with its URL as the last argument. It
// starts the proxy (PROXY, with the URL appended) and plays the client that the scenario needs. Everything the suite
// checks is about what arrives at the URL.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const [command, ...args] = JSON.parse(process.env.PROXY);
const LIMIT_MS = 20_000;

// As a client of its own, which answers whatever it is asked with the form's defaults.
const client = new Client({ name: 'driver', version: '1' }, {
  capabilities: { elicitation: {}, sampling: {}, roots: {} }, versionNegotiation: { mode: 'legacy' },
});
const WORDS = { string: 'text', number: 1.5, integer: 1, boolean: true, array: [], object: {}, null: null };
const fillIn = (form) => Object.fromEntries(Object.entries(form?.properties ?? {}).map(([name, field]) => [name, field.default ?? field.enum?.[0] ?? WORDS[field.type]]));
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
client.setRequestHandler('sampling/createMessage', () => ({ role: 'assistant', model: 'none', content: { type: 'text', text: 'Hello' } }));
client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home', name: 'home' }] }));
client.setRequestHandler('elicitation/create', ({ params }) => ({ action: 'accept', content: fillIn(params.requestedSchema) }));

// request(), not callTool(): nothing is cached, filtered or checked between the proxy and the suite
const ask = (method, params = {}) => client.request({ method, params }, { timeout: LIMIT_MS });
const call = (name, args = {}) => ask('tools/call', { name, arguments: args });
const listed = async () => (await ask('tools/list')).tools;
const whatever = () => {}; // a scenario may answer with an error; what it judges is what it was sent
const plays = {
  initialize: () => ask('tools/list'),
  tools_call: async () => { await ask('tools/list'); await call('add_numbers', { a: 2, b: 3 }); },
  'elicitation-sep1034-client-defaults': async () => { await ask('tools/list'); await call('test_client_elicitation_defaults'); },
  'sse-retry': async () => { await ask('tools/list'); await call('test_reconnection'); },
  'request-metadata': async () => { await listed(); await listed(); },
  'json-schema-ref-no-deref': listed,
  'sep-2322-client-request-state': async () => {
    await listed();
    await Promise.all([call('test_mrtr_echo_state'), call('test_mrtr_unrelated')]);
    await call('test_mrtr_no_state');
    await call('test_mrtr_no_result_type').catch(whatever);
  },
  'http-standard-headers': async () => {
    for (const tool of await listed()) await call(tool.name);
    for (const { uri } of (await ask('resources/list')).resources) await ask('resources/read', { uri });
    for (const { name } of (await ask('prompts/list')).prompts) await ask('prompts/get', { name });
  },
  'http-custom-headers': async () => { await listed(); for (const one of given.toolCalls) await call(one.name, one.arguments); },
  'http-invalid-tool-headers': async () => { for (const tool of await listed()) await call(tool.name, fillIn(tool.inputSchema)).catch(whatever); },
};

let code = 0;
const late = setTimeout(() => { console.error(`driver: ${scenario}: no end after ${LIMIT_MS} ms`); process.exit(1); }, LIMIT_MS);
try {
  await client.connect(new StdioClientTransport({ command, args: [...args, url], env: process.env, stderr: 'inherit' }));
  await plays[scenario]();
} catch (error) {
  console.error(`driver: ${scenario}: ${error?.message ?? error}`);
  code = 1;
}
await client.close();
clearTimeout(late);
process.exit(code);
