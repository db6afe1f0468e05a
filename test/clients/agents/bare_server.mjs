// bare_server.mjs - a server over stdio with no SDK, whose tools all take effect first and then answer in one way each.
//
//   node bare_server.mjs EFFECTS INSTANCES CALLS
//
// EFFECTS gets a line for each call that ran, INSTANCES one for each process, CALLS the params of each call as JSON.
import fs from 'node:fs';
import { createInterface } from 'node:readline';

const [effects, instances, calls] = process.argv.slice(2);
const stamp = () => `${process.pid} ${process.hrtime.bigint()}`;
fs.appendFileSync(instances, `start ${stamp()}\n`);

const text = (words) => [{ type: 'text', text: words }];
const send = (message) => fs.writeSync(1, `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const inputSchema = { type: 'object', properties: { key: { type: 'string' }, words: { type: 'string' } }, required: ['key'] };
const fails = ({ words }) => ({ error: { code: -31002, message: words, data: { retrySafe: false } } });
const TOOLS = {
  pay: { answer: ({ key }) => ({ result: { content: text(`paid ${key}`) } }) },
  pay_and_die: { answer: () => process.kill(process.pid, 'SIGKILL'), annotations: { idempotentHint: true } }, // some send such a tool again
  pay_then_error: { answer: fails },
  pay_then_error_again: { answer: fails, annotations: { idempotentHint: true } },
  pay_then_tool_error: { answer: ({ words }) => ({ result: { content: text(words), isError: true } }) },
};

function take({ id, method, params }) {
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bare', version: '1' } } });
  }
  if (method === 'ping') return send({ id, result: {} });
  if (method === 'tools/list') {
    const tools = Object.entries(TOOLS).map(([name, { annotations }]) => ({ name, description: `does ${name}`, inputSchema, annotations }));
    return send({ id, result: { tools } });
  }
  const tool = method === 'tools/call' && TOOLS[params.name];
  if (!tool) return id === undefined ? undefined : send({ id, error: { code: -32601, message: `no ${method} here` } });
  fs.appendFileSync(effects, `${params.arguments.key} ${stamp()}\n`);
  fs.appendFileSync(calls, `${JSON.stringify(params)}\n`);
  return send({ id, ...tool.answer(params.arguments) });
}

createInterface({ input: process.stdin }).on('line', (line) => take(JSON.parse(line))).on('close', () => process.exit(0));
