// sdk_modern.mjs - the server on SDK v2: 2026-07-28 and nothing else.
import { InMemoryServerEventBus, ProtocolError, ResourceNotFoundError, Server, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio as serveOn } from '@modelcontextprotocol/server/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { getPrompt, note, noteGot, promptList, readResource, resourceList, runTool, templateList, toolList } from './sdk_tools.mjs';

let announce; // over HTTP: tells everybody who listens

/** A tool that must know more first is left by this, and run again with the answers. */
class Asks extends Error {
  constructor(request) {
    super('input required');
    this.request = request;
  }
}

function context(server, { mcpReq }) {
  const token = mcpReq._meta?.progressToken;
  return {
    signal: mcpReq.signal,
    protocolError: (code, message, data) => new ProtocolError(code, message, data),
    progress: async (progress, total) => {
      if (token === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress, total } });
    },
    log: (level, data) => mcpReq.log(level, data, 'sdk'),
    ask: async (method, params = {}) => {
      const answer = mcpReq.inputResponses?.answer;
      if (answer === undefined) throw new Asks({ method, params });
      if (mcpReq.requestState() !== 'kept: "é"') throw new ProtocolError(-32602, `the state came back as ${mcpReq.requestState()}`);
      return answer;
    },
    changed: () => (announce ? announce.toolsChanged() : server.sendToolListChanged()),
    updated: (uri) => (announce ? announce.resourceUpdated(uri) : server.sendResourceUpdated({ uri })),
  };
}

async function run(server, request, ctx) {
  try {
    return await runTool(request.params, context(server, ctx));
  } catch (error) {
    if (!(error instanceof Asks)) throw error;
    return inputRequired({ inputRequests: { answer: error.request }, requestState: 'kept: "é"' });
  }
}

function newServer() {
  const server = new Server({ name: 'sdk-modern', version: '2.0.0' }, {
    instructions: 'Ask before you pay.',
    capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true }, logging: {} },
  });
  server.setRequestHandler('tools/list', () => ({ tools: toolList() }));
  server.setRequestHandler('tools/call', (request, ctx) => run(server, request, ctx));
  server.setRequestHandler('prompts/list', () => ({ prompts: promptList() }));
  server.setRequestHandler('prompts/get', ({ params }) => getPrompt(params));
  server.setRequestHandler('resources/list', () => ({ resources: resourceList() }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: templateList() }));
  server.setRequestHandler('resources/read', ({ params }) => {
    const found = readResource(params);
    if (!found) throw new ResourceNotFoundError(params.uri);
    return found;
  });
  return server;
}

export function serveStdio() {
  const transport = new StdioServerTransport();
  serveOn(newServer, { legacy: 'reject', transport });
  const take = transport.onmessage;
  transport.onmessage = (message, extra) => {
    noteGot(message);
    take(message, extra);
    if (message.method === 'subscriptions/listen') note('listening');
  };
  process.stdin.on('end', () => process.exit(0));
}

class NotedBus extends InMemoryServerEventBus {
  subscribe(listener) {
    const leave = super.subscribe(listener);
    note('listening');
    return leave;
  }
}

export function httpHandler() {
  const handler = createMcpHandler(newServer, { legacy: 'reject', bus: new NotedBus() });
  announce = handler.notify;
  return toNodeHandler(handler);
}
