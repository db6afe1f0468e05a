// sdk_legacy.mjs - the server on SDK v1: 2025-11-25 and older, with sessions over HTTP.
import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as T from '@modelcontextprotocol/sdk/types.js';
import { getPrompt, note, noteGot, promptList, readResource, resourceList, runTool, templateList, toolList } from './sdk_tools.mjs';

const REPLIES = {
  'elicitation/create': T.ElicitResultSchema, 'sampling/createMessage': T.CreateMessageResultSchema, 'roots/list': T.ListRootsResultSchema,
};
const servers = new Map(); // each with the URIs its client subscribed to

function context(server, { params }, extra) {
  const token = params._meta?.progressToken;
  return {
    signal: extra.signal,
    protocolError: (code, message, data) => new T.McpError(code, message, data),
    progress: async (progress, total) => {
      if (token === undefined) return;
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken: token, progress, total } });
    },
    log: async (level, data) => {
      if (server.isMessageIgnored(level, extra.sessionId)) return;
      await extra.sendNotification({ method: 'notifications/message', params: { level, data, logger: 'sdk' } });
    },
    ask: (method, { mode, ...asked } = {}) => extra.sendRequest({ method, params: asked }, REPLIES[method], { signal: extra.signal }), // every revision knows the form without a mode
    changed: () => Promise.all([...servers.keys()].map((each) => each.sendToolListChanged())),
    updated: (uri) => Promise.all([...servers].filter(([, uris]) => uris.has(uri)).map(([each]) => each.sendResourceUpdated({ uri }))),
  };
}

function newServer() {
  const server = new Server({ name: 'sdk-legacy', version: '1.0.0' }, {
    instructions: 'Ask before you pay.',
    capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true }, logging: {} },
  });
  const uris = new Set();
  servers.set(server, uris);
  server.onclose = () => servers.delete(server);
  const on = (kind, handler) => server.setRequestHandler(kind, handler);
  on(T.ListToolsRequestSchema, () => ({ tools: toolList() }));
  on(T.CallToolRequestSchema, (request, extra) => runTool(request.params, context(server, request, extra)));
  on(T.ListPromptsRequestSchema, () => ({ prompts: promptList() }));
  on(T.GetPromptRequestSchema, ({ params }) => getPrompt(params));
  on(T.ListResourcesRequestSchema, () => ({ resources: resourceList() }));
  on(T.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: templateList() }));
  on(T.ReadResourceRequestSchema, ({ params }) => {
    const found = readResource(params);
    if (!found) throw new T.McpError(-32002, 'Resource not found', { uri: params.uri });
    return found;
  });
  on(T.SubscribeRequestSchema, ({ params }) => { uris.add(params.uri); note(`subscribe ${params.uri}`); return {}; });
  on(T.UnsubscribeRequestSchema, ({ params }) => { uris.delete(params.uri); return {}; });
  return server;
}

/** `onDiscover`: what becomes of the question for the era; the SDK itself answers "method not found". */
export async function serveStdio(onDiscover) {
  const transport = new StdioServerTransport();
  await newServer().connect(transport);
  const take = transport.onmessage;
  transport.onmessage = (message, extra) => {
    noteGot(message);
    if (message.method === 'server/discover' && onDiscover === 'exit') process.exit(3);
    if (message.method === 'server/discover' && onDiscover === 'silent') return;
    take(message, extra);
  };
  process.stdin.on('end', () => process.exit(0));
}

export function httpHandler() {
  const sessions = new Map();
  return async (request, response, body) => {
    const id = request.headers['mcp-session-id'];
    if (id !== undefined && !sessions.has(id)) {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}');
      return;
    }
    let transport = sessions.get(id);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(), onsessioninitialized: (sid) => sessions.set(sid, transport), onsessionclosed: (sid) => sessions.delete(sid),
      });
      await newServer().connect(transport);
    }
    if (request.method === 'GET') { // the SDK has taken the stream into account before it says so
      const { writeHead } = response;
      response.writeHead = (status, ...rest) => {
        if (status === 200) note('listening');
        return writeHead.call(response, status, ...rest);
      };
    }
    await transport.handleRequest(request, response, body);
  };
}
