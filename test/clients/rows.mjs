// rows.mjs - what the rows of the tables have in common: a path with a client of some library, calls on it, and the
// sentence that a caller of holdfast is given when its server died after the effect.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../e2e/harness.mjs';
import { PATHS } from './paths.mjs';
import * as plain from './plain.mjs';

// Read when the libraries are loaded: none of them is to report anything to anybody.
Object.assign(process.env, {
  MCP_USE_ANONYMIZED_TELEMETRY: 'false', MASTRA_TELEMETRY_DISABLED: '1', OPENAI_AGENTS_DISABLE_TRACING: '1', LANGSMITH_TRACING: 'false',
});
const adapter = (file) => import(`./${file}.mjs`);
const versionTwo = await adapter('sdk_v2');

/** Each with `library`, the name of its package, and `connect`. */
export const LIBRARIES = {
  plain,
  sdk_v1: await adapter('sdk_v1'),
  sdk_v2_legacy: { ...versionTwo, note: ', legacy', connect: versionTwo.inMode('legacy') },
  sdk_v2_modern: { ...versionTwo, note: ', modern', connect: versionTwo.inMode({ pin: '2026-07-28' }) },
  ai_sdk: await adapter('ai_sdk'),
  openai_agents: await adapter('openai_agents'),
  langchain: await adapter('langchain'),
  mastra: await adapter('mastra'),
  mcp_use: await adapter('mcp_use'),
};

/** As the tables name a library: its package, with the version that is installed. */
export function nameOf({ library, note = '' }, modules = path.join(ROOT, 'test/node_modules')) {
  const file = path.join(modules, library, 'package.json');
  if (!fs.existsSync(file)) return library;
  const { name, version } = JSON.parse(fs.readFileSync(file));
  return `${name} ${version}${note}`;
}

/** What the caller is told in the end, whichever way the library has of telling it. */
export const told = (call) => call.then((text) => ({ how: 'returned', text }), (error) => ({ how: 'thrown', text: error.message }));

/**
 * A path with its client, which knows the tools, as every agent does before it calls one; `close` also when the test has
 * failed. `backend` is the remote server if the row wants that or there is no other.
 */
export async function open(t, way, connect, { isRemote = false, makeServer } = {}) {
  const row = { way, ...await PATHS[way](t, makeServer) };
  row.backend = isRemote ? row.remote : row.local ?? row.remote;
  row.client = await connect(row.target);
  let closing;
  row.close = () => (closing ??= row.client.close());
  t.after(row.close);
  row.names = await row.client.list();
  return row;
}

/** A call that works, with one effect. */
export async function pays({ client, backend }, key, around = (call) => call()) {
  const before = backend.effects().length;
  const { how, text } = await around(() => told(client.call(`${backend.prefix}${backend.pay}`, { key })));
  assert.equal(how, 'returned', text);
  assert.deepEqual(backend.effects().slice(before), [key]);
}

/** A call whose server dies after the effect, in a row that has seen one that worked. */
export async function diesDuring(row) {
  const { client, backend } = row;
  await pays(row, 'before');
  return backend.diesDuring(() => told(client.call(`${backend.prefix}${backend.payAndDie}`, { key: 'pay' })), 'pay');
}

const sentences = {};
/** What a caller without a library is told on this path; once found, it is kept. */
export async function sentenceOf(t, way, makeServer) {
  sentences[way] ??= (await diesDuring(await open(t, way, plain.connect, { makeServer }))).text;
  return sentences[way];
}
