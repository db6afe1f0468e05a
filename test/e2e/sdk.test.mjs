// The official SDK client and the official everything-server with holdfast in between.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { HOLDFAST, ROOT, isGone, killNow, scratch, until } from './harness.mjs';

const EVERYTHING = path.join(ROOT, 'test/node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const SERVER = [process.execPath, EVERYTHING, 'stdio'];

function connector(dir, command, args) {
  const env = { ...process.env, HOLDFAST_STATE_DIR: path.join(dir, 'state') };
  const transport = new StdioClientTransport({ command, args, env, cwd: dir, stderr: 'pipe' });
  const client = new Client({ name: 'sdk', version: '1' }, { capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} } });
  const seen = { updated: [], logs: [], asked: [] };
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///project', name: 'project' }] }));
  client.setRequestHandler(CreateMessageRequestSchema, (request) => {
    seen.asked.push('sampling');
    return { role: 'assistant', model: 'test', content: { type: 'text', text: `sampled ${request.params.messages.length}` } };
  });
  client.setRequestHandler(ElicitRequestSchema, () => {
    seen.asked.push('elicitation');
    return { action: 'decline' };
  });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => { seen.updated.push(params.uri); });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => { seen.logs.push(params.data); });
  return { client, transport, seen };
}

async function connect(t, command, args, dir = scratch()) {
  const made = connector(dir, command, args);
  await made.client.connect(made.transport);
  let stderr = '';
  made.transport.stderr?.on('data', (chunk) => { stderr += chunk; });
  t.after(() => made.client.close());
  return { ...made, said: () => stderr };
}

const textOf = (result) => result.content.map((part) => part.text ?? '').join(' ');

/** Everything a client can do; `name` turns the server's names into this endpoint's. */
async function exercise({ client, seen }, name) {
  const { tools } = await client.listTools();
  assert.ok(tools.some((tool) => tool.name === name('echo')), tools.map((tool) => tool.name).join(' '));
  assert.match(textOf(await client.callTool({ name: name('echo'), arguments: { message: 'hi' } })), /hi/);
  assert.match(textOf(await client.callTool({ name: name('get-sum'), arguments: { a: 2, b: 3 } })), /5/);
  const structured = await client.callTool({ name: name('get-structured-content'), arguments: { location: 'New York' } });
  assert.ok(structured.structuredContent);

  const steps = [];
  await client.callTool({ name: name('trigger-long-running-operation'), arguments: { duration: 0.4, steps: 4 } }, undefined, {
    onprogress: (step) => steps.push(step.progress),
  });
  // the SDK itself loses the last one when it comes in one read with the answer
  assert.deepEqual(steps.slice(0, 3), [1, 2, 3]);

  const abort = new AbortController();
  const long = client.callTool({ name: name('trigger-long-running-operation'), arguments: { duration: 30, steps: 300 } }, undefined, {
    signal: abort.signal, onprogress: () => abort.abort('enough'),
  });
  await assert.rejects(long, /enough/);

  assert.match(textOf(await client.callTool({ name: name('trigger-sampling-request'), arguments: { prompt: 'p', maxTokens: 5 } })), /sampled 1/);
  await client.callTool({ name: name('trigger-elicitation-request'), arguments: {} });
  assert.deepEqual(seen.asked, ['sampling', 'elicitation']);
  assert.match(textOf(await client.callTool({ name: name('get-roots-list'), arguments: {} })), /file:\/\/\/project/);
  await client.sendRootsListChanged();

  await client.setLoggingLevel('debug');
  await client.callTool({ name: name('toggle-simulated-logging'), arguments: {} });
  await until(() => seen.logs.some((data) => /level|Level/.test(data)), 'a log message');
  await client.callTool({ name: name('toggle-simulated-logging'), arguments: {} });

  await exerciseResources({ client, seen }, name);
  await exercisePrompts(client, name);
  await client.ping();
}

async function exerciseResources({ client, seen }, name) {
  const { resources } = await client.listResources();
  assert.ok(resources.length > 0);
  const [{ uri }] = resources;
  assert.ok((await client.readResource({ uri })).contents.length > 0);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.length > 0);
  const made = resourceTemplates.find((r) => /text/.test(r.uriTemplate)).uriTemplate.replace(/\{[^}]*\}/, '1');
  assert.ok((await client.readResource({ uri: made })).contents.length > 0);
  await client.subscribeResource({ uri: made });
  await client.callTool({ name: name('toggle-subscriber-updates'), arguments: {} });
  await until(() => seen.updated.includes(made), 'an update of the resource');
  await client.callTool({ name: name('toggle-subscriber-updates'), arguments: {} });
  await client.unsubscribeResource({ uri: made });
  await assert.rejects(client.readResource({ uri: 'nowhere://x' }));
}

async function exercisePrompts(client, name) {
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((prompt) => prompt.name === name('simple-prompt')), prompts.map((p) => p.name).join(' '));
  assert.ok((await client.getPrompt({ name: name('simple-prompt') })).messages.length > 0);
  const done = await client.complete({
    ref: { type: 'ref/prompt', name: name('completable-prompt') }, argument: { name: 'department', value: 'S' },
  });
  assert.ok(done.completion.values.includes('Sales'));
}

/** The pids of everybody whose command line holds `part`, below `root`. */
function below(root, part) {
  const found = [];
  const walk = (pid) => {
    for (const thread of fs.readdirSync(`/proc/${pid}/task`)) {
      for (const child of fs.readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean)) {
        if (fs.readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(part)) found.push(Number(child));
        walk(child);
      }
    }
  };
  try {
    walk(root);
  } catch { /* somebody went while we looked */ }
  return found;
}

function configFile(dir) {
  const file = path.join(dir, 'config.json');
  fs.writeFileSync(file, JSON.stringify({ mcpServers: { every: { command: SERVER[0], args: SERVER.slice(1) } } }));
  return file;
}

if (process.env.HOLDFAST_DIRECT) {
  test('the_exercise_is_fair_without_holdfast', async (t) => {
    await exercise(await connect(t, SERVER[0], SERVER.slice(1)), (n) => n);
  });
}

test('the_sdk_client_does_everything_through_run', async (t) => {
  const session = await connect(t, HOLDFAST, ['run', '--', ...SERVER]);
  assert.equal(session.client.getServerVersion().name, 'mcp-servers/everything');
  await exercise(session, (n) => n);
  const pid = session.transport.pid;
  await session.client.close();
  await until(() => isGone(pid), 'holdfast to end');
  assert.doesNotMatch(session.said(), /Sanitizer|runtime error/);
});

test('the_sdk_client_does_everything_through_stdio', async (t) => {
  const dir = scratch();
  const session = await connect(t, HOLDFAST, ['stdio', '-c', configFile(dir)], dir);
  assert.equal(session.client.getServerVersion().name, 'holdfast');
  await exercise(session, (n) => `every__${n}`);
  const pid = session.transport.pid;
  await session.client.close();
  await until(() => isGone(pid), 'holdfast to end');
  assert.doesNotMatch(session.said(), /Sanitizer|runtime error/);
});

test('the_sdk_client_does_not_notice_that_its_server_was_killed', async (t) => {
  const session = await connect(t, HOLDFAST, ['run', '--', ...SERVER]);
  const call = () => session.client.callTool({ name: 'echo', arguments: { message: 'hi' } });
  await call();
  for (let i = 0; i < 2; i++) {
    const [pid] = await until(() => below(session.transport.pid, 'server-everything').length && below(session.transport.pid, 'server-everything'), 'the server');
    killNow(pid);
    assert.match(textOf(await call()), /hi/);
    await until(() => isGone(pid), 'the old server to be reaped');
  }
});
