// The official clients, unchanged, over HTTP with holdfast in between.
import test from 'node:test';
import assert from 'node:assert/strict';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { ROOT, killNow, until } from './harness.mjs';
import { httpServer, serve, sseServer } from './http_harness.mjs';

const EVERYTHING = path.join(ROOT, 'test/node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const INSPECTOR = path.join(ROOT, 'test/node_modules/.bin/mcp-inspector');

/** An SDK client that answers what it is asked, and notes what it is told. */
async function connect(t, transport) {
  const client = new Client({ name: 'sdk', version: '1' }, { capabilities: { sampling: {}, elicitation: {} } });
  client.seen = { logs: [], asked: [] };
  client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => { client.seen.logs.push(n.params.data); });
  client.setRequestHandler(CreateMessageRequestSchema, () => {
    client.seen.asked.push('sampling');
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } };
  });
  client.setRequestHandler(ElicitRequestSchema, () => {
    client.seen.asked.push('elicitation');
    return { action: 'accept', content: { name: 'Ada' } };
  });
  t.after(() => client.close().catch(() => {}));
  await client.connect(transport);
  return client;
}

const textIn = (result) => result.content[0].text;
const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };

/** What every client must be able to do with the HTTP fixture behind any endpoint. */
async function everyday(client, server, prefix = '') {
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert.ok(names.includes(`${prefix}pay`), names.join(' '));
  assert.equal(textIn(await client.callTool({ name: `${prefix}pay`, arguments: { key: 'k' } })), 'paid k');
  const progress = [];
  const call = client.callTool({ name: `${prefix}progress`, arguments: { key: 'p', n: 3, holds: true } }, undefined, { onprogress: (p) => progress.push(p.progress) });
  await until(() => progress.length === 3, 'progress'); // the SDK forgets what comes in one piece with the answer
  server.release('p');
  assert.equal(textIn(await call), 'paid p');
  assert.deepEqual(progress, [1, 2, 3]);
  const asked = await client.callTool({ name: `${prefix}ask`, arguments: { key: 'q', method: 'elicitation/create', params: FORM } });
  assert.equal(JSON.parse(textIn(asked)).result.content.name, 'Ada');
  await server.restart();
  assert.equal(textIn(await client.callTool({ name: `${prefix}pay`, arguments: { key: 'after' } })), 'paid after');
  assert.deepEqual(server.effects, ['k', 'p', 'q', 'after']);
}

test('the_sdk_client_works_unchanged_over_streamable_http', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`));
  const client = await connect(t, transport);
  await everyday(client, server, 'http__');
  await transport.terminateSession();
  await client.close();
  await gateway.finish();
});

test('the_sdk_client_works_unchanged_at_the_endpoint_of_one_server', async (t) => {
  const server = await httpServer(t, { style: 'sse', hasGet: true });
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const client = await connect(t, new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp/http`)));
  await everyday(client, server);
  await client.close();
  await gateway.finish();
});

test('the_sdk_client_works_unchanged_over_the_old_http_and_sse', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const client = await connect(t, new SSEClientTransport(new URL(`${gateway.origin}/sse`)));
  await everyday(client, server, 'http__');
  await client.close();
  const one = await connect(t, new SSEClientTransport(new URL(`${gateway.origin}/sse/http`)));
  assert.equal(textIn(await one.callTool({ name: 'pay', arguments: { key: 'one' } })), 'paid one');
  await one.close();
  await gateway.finish();
});

test('the_v2_client_in_its_legacy_mode_works_unchanged', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const client = new Client2({ name: 'v2', version: '1' }, { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'legacy' } });
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
  t.after(() => client.close().catch(() => {}));
  await client.connect(new Transport2(new URL(`${gateway.origin}/mcp`)));
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert.ok(names.includes('http__pay'));
  assert.equal(textIn(await client.callTool({ name: 'http__pay', arguments: { key: 'k' } })), 'paid k');
  const asked = await client.callTool({ name: 'http__ask', arguments: { key: 'q', method: 'elicitation/create', params: FORM } });
  assert.equal(JSON.parse(textIn(asked)).result.content.name, 'Ada');
  await server.restart();
  assert.equal(textIn(await client.callTool({ name: 'http__pay', arguments: { key: 'after' } })), 'paid after');
  assert.deepEqual(server.effects, ['k', 'q', 'after']);
  await client.close();
  await gateway.finish();
});

/** `mcp-inspector --cli URL …`: what it printed, as JSON. */
function inspect(...args) {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [INSPECTOR, '--cli', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => { out += chunk; });
    child.stderr.on('data', (chunk) => { err += chunk; });
    child.on('close', (code) => (code === 0 ? done(JSON.parse(out)) : fail(new Error(`the inspector ended with ${code}:\n${out}${err}`))));
  });
}

test('the_inspector_works_unchanged_on_its_command_line', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const url = `${gateway.origin}/mcp`;
  const listed = await inspect(url, '--transport', 'http', '--method', 'tools/list');
  assert.ok(listed.tools.some((tool) => tool.name === 'http__pay'));
  const paid = await inspect(url, '--transport', 'http', '--method', 'tools/call', '--tool-name', 'http__pay', '--tool-arg', 'key=k');
  assert.equal(textIn(paid), 'paid k');
  assert.deepEqual(server.effects, ['k']);
  await gateway.finish();
});

test('the_sdk_client_and_the_everything_server_do_not_notice_what_stands_between_them', async (t) => {
  const gateway = await serve(t, { servers: { every: { command: process.execPath, args: [EVERYTHING, 'stdio'] } } });
  const client = await connect(t, new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp/every`)));
  assert.ok((await client.listTools()).tools.length > 5);
  assert.match(textIn(await client.callTool({ name: 'echo', arguments: { message: 'hello' } })), /hello/);
  assert.ok((await client.listPrompts()).prompts.length > 0);
  const { resources } = await client.listResources();
  assert.ok((await client.readResource({ uri: resources[0].uri })).contents.length > 0);
  const progress = [];
  await client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } }, undefined, { onprogress: (p) => progress.push(p.progress) });
  assert.deepEqual(progress, [1, 2, 3, 4]);
  await client.close();
  await gateway.finish();
});

test('an_old_http_and_sse_server_is_found_by_itself_and_serves_a_new_client', async (t) => {
  const server = await sseServer(t);
  const gateway = await serve(t, { servers: { old: { http: server } } });
  const client = await connect(t, new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp/old`)));
  assert.equal(textIn(await client.callTool({ name: 'pay', arguments: { key: 'k' } })), 'paid k');
  const asked = await client.callTool({ name: 'ask', arguments: { key: 'q', method: 'elicitation/create', params: FORM } });
  assert.equal(JSON.parse(textIn(asked)).result.content.name, 'Ada');
  assert.deepEqual(server.effects, ['k', 'q']);
  await client.close();
  await gateway.finish();
});

test('the_sdk_client_does_not_notice_that_its_stdio_server_was_killed', async (t) => {
  const gateway = await serve(t, { servers: { effects: { flags: [] } } });
  const client = await connect(t, new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp/effects`)));
  await client.callTool({ name: 'effect', arguments: { key: 'a' } });
  const server = gateway.servers.effects;
  killNow(server.pid());
  await client.callTool({ name: 'effect', arguments: { key: 'b' } });
  await until(() => server.starts().length === 2, 'the second process');
  assert.deepEqual(server.effects(), ['a', 'b']);
  await client.close();
  await gateway.finish();
});
