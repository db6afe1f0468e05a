// odd_server.mjs - a stdio server whose one tool answers in the very bytes that its caller asks for.
//
// `odd` takes effect (a line with `key` in the file named by argv[2]) and then writes `lines`, with ID in them replaced by the
// id of the request and RESULT by a good result. A call with `lines` empty is kept; ID0, ID1 … are the ids of the calls so far.
import fs from 'node:fs';
import readline from 'node:readline';

const ids = [];
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const result = (words) => JSON.stringify({ content: [{ type: 'text', text: words }] });

function call(id, { key, lines = [] }) {
  fs.appendFileSync(process.argv[2], `${key}\n`);
  ids.push(id);
  for (const line of lines) {
    const bytes = line.replace(/ID(\d+)/g, (_, i) => ids[i]).replaceAll('ID', id).replaceAll('RESULT', result(`did ${key}`));
    process.stdout.write(`${bytes}\n`);
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) continue;
  if (method === 'initialize') {
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } } });
  } else if (method === 'tools/list') {
    say({ id, result: { tools: [{ name: 'odd', inputSchema: { type: 'object' } }] } });
  } else if (method === 'tools/call') {
    call(id, params.arguments);
  } else {
    say({ id, error: { code: -32601, message: `no ${method} here` } });
  }
}
