// http_server.mjs - an MCP server over Streamable HTTP whose every byte a test can choose.
//
// Plain node:http in the test's own process, no SDK. Each tool below is one way in which servers answer,
// fail to answer, or forget; the test looks at what really arrived and really ran.
//
// 1. Every request is one entry of `deliveries`, made when its body was read whole and before it is answered.
// 2. Every executed tool is one entry of `effects`: one key twice is a call that ran twice.
// 3. stop() forgets every session and closes every connection; start() listens on the same port again.
import http from 'node:http';
import https from 'node:https';
import { randomUUID } from 'node:crypto';
import { text as readText } from 'node:stream/consumers';

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const LAST_VERSION = VERSIONS.at(-1);
const text = (words) => ({ content: [{ type: 'text', text: words }] });

/** Events of one response, kept so that a stream that was cut can be taken up again. */
export class EventStream {
  constructor(key, hasIds, hello = true) {
    this.key = key;
    this.hasIds = hasIds;
    this.hello = hello; // opens with an empty event that carries the first id
    this.events = [];
    this.isOver = false;
    this.indent = undefined; // JSON on many lines
    this.response = undefined;
  }
  idAfter(count) {
    return `${this.key}.${count}`;
  }
  /** Writes what was missed, then everything to come, on this response. */
  attach(response, seen = 0, headers = {}) {
    this.response = response;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers });
    response.flushHeaders();
    if (this.hasIds && this.hello && seen === 0 && this.events.length === 0) response.write(`id: ${this.idAfter(0)}\ndata: \n\n`);
    this.events.slice(seen).forEach((event, i) => this.#write(event, seen + i + 1));
    if (this.isOver) response.end();
  }
  #write(message, count) {
    const id = this.hasIds ? `id: ${this.idAfter(count)}\n` : '';
    this.response?.write(`${id}event: message\ndata: ${JSON.stringify(message, null, this.indent).replaceAll('\n', '\ndata: ')}\n\n`);
  }
  send(message) {
    this.events.push(message);
    this.#write(message, this.events.length);
  }
  /** The connection ends in good order; the stream lives on and can be resumed. */
  close(retryMs) {
    if (retryMs !== undefined) this.response?.write(`retry: ${retryMs}\n\n`);
    this.response?.end();
    this.response = undefined;
  }
  /** The connection breaks without a word. */
  cut() {
    this.response?.socket?.destroy();
    this.response = undefined;
  }
  finish(message) {
    this.isOver = true;
    if (message) this.send(message);
    this.response?.end();
  }
}

/** One POST that carries a request, and every way to answer it. */
export class Exchange {
  constructor(server, session, message, request, response) {
    Object.assign(this, { server, session, message, request, response });
  }
  get socket() {
    return this.response.socket;
  }
  reply(body) {
    return { jsonrpc: '2.0', id: this.message.id, ...body };
  }
  #headers() {
    return this.message.method === 'initialize' && this.session ? { 'mcp-session-id': this.session.id } : {};
  }
  /** Any status with any body; an object travels as JSON. */
  status(code, { headers = {}, body = '' } = {}) {
    const bytes = typeof body === 'string' ? body : JSON.stringify(body, null, this.server.indent);
    const type = typeof body === 'string' ? 'text/plain' : 'application/json';
    this.response.writeHead(code, { 'content-type': type, 'content-length': Buffer.byteLength(bytes), ...this.#headers(), ...headers });
    this.response.end(bytes);
  }
  /** The response, as the server usually does it: JSON, or an event stream. */
  send(body) {
    if (this.stream) this.stream.finish(this.reply(body));
    else if (this.server.style === 'sse') this.open().finish(this.reply(body));
    else this.status(200, { body: this.reply(body) });
  }
  result(result) {
    this.send({ result });
  }
  error(code, message, data) {
    this.send({ error: { code, message, ...(data === undefined ? {} : { data }) } });
  }
  /** From here on the response is an event stream. */
  open({ hasIds = this.server.hasIds, hello } = {}) {
    if (this.stream) return this.stream;
    this.stream = new EventStream(randomUUID(), hasIds, hello);
    this.stream.indent = this.server.indent;
    this.session?.streams.set(this.stream.key, this.stream);
    this.stream.attach(this.response, 0, this.#headers());
    return this.stream;
  }
  /** A request to the client, on this response's stream; its answer comes by another POST. */
  ask(method, params) {
    const id = `ask-${++this.server.asked}`;
    this.open().send({ jsonrpc: '2.0', id, method, params });
    return new Promise((done) => this.server.asking.set(id, done));
  }
  notify(method, params) {
    this.open().send({ jsonrpc: '2.0', method, params });
  }
  /** Bytes in place of a response, then the end of the connection or what `then` does with it. */
  raw(bytes, then = (socket) => socket.end()) {
    this.socket.write(bytes, () => then(this.socket));
  }
}

const answerBytes = (x, result) => {
  const body = JSON.stringify(x.reply({ result }));
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
};
/** RST, also below TLS. */
const reset = (socket) => (socket._parent ?? socket).resetAndDestroy();
const ran = (x, args) => x.server.effects.push(args.key);

/** What each tool does. All take effect (`key`) before they answer, unless their comment says otherwise. */
const TOOLS = {
  echo: (x, { text: words }) => x.result(text(words)), // no effect
  headers: (x) => x.result(text(JSON.stringify(x.request.headers))), // no effect
  pay: (x, args) => { ran(x, args); x.result(text(`paid ${args.key}`)); },
  /** Answers when the test calls release(key). */
  hold: async (x, args) => {
    ran(x, args);
    await x.server.held(args.key);
    x.result(text(`paid ${args.key}`));
  },
  /** Any HTTP status after the effect; `rpc` puts a JSON-RPC error with the request's own id into the body. */
  status: (x, args) => {
    ran(x, args);
    x.status(args.status, { headers: args.headers, body: args.rpc ? x.reply({ error: args.rpc }) : args.body });
  },
  close_without_answer: (x, args) => { ran(x, args); x.socket.destroy(); },
  reset_without_answer: (x, args) => { ran(x, args); reset(x.socket); },
  answer_then_reset: (x, args) => { ran(x, args); x.raw(answerBytes(x, text(`paid ${args.key}`)), reset); },
  answer_then_close: (x, args) => { ran(x, args); x.raw(answerBytes(x, text(`paid ${args.key}`)), (s) => s.destroy()); },
  /** The first `bytes` bytes of a good answer. */
  cut_answer: (x, args) => { ran(x, args); x.raw(answerBytes(x, text(`paid ${args.key}`)).slice(0, args.bytes)); },
  /** An event stream that breaks before the response. With `hasIds` the response waits for whoever resumes. */
  cut_stream: (x, args) => {
    ran(x, args);
    const stream = x.open({ hasIds: args.hasIds });
    if (args.notice) stream.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'begun' } });
    x.response.write(': flushed\n\n', () => {
      stream.cut();
      if (args.hasIds) stream.finish(x.reply({ result: text(`paid ${args.key}`) }));
    });
  },
  /** Closes its stream in good order mid-request; the response comes on the resumed one, after release(key). */
  come_back: async (x, args) => {
    ran(x, args);
    const stream = x.open({ hasIds: true });
    stream.close(args.retryMs);
    await x.server.held(args.key);
    stream.finish(x.reply({ result: text(`paid ${args.key}`) }));
  },
  rpc_error: (x, args) => { ran(x, args); x.error(args.code, args.message, args.data); },
  tool_error: (x, args) => { ran(x, args); x.result({ ...text(args.text), isError: true }); },
  ask: async (x, args) => { ran(x, args); x.result(text(JSON.stringify(await x.ask(args.method, args.params)))); },
  /** With `holds`, the answer comes after release(key). */
  progress: async (x, args) => {
    ran(x, args);
    const progressToken = x.message.params._meta?.progressToken;
    for (let i = 1; i <= args.n && progressToken !== undefined; i++) {
      x.notify('notifications/progress', { progressToken, progress: i, total: args.n });
    }
    if (args.holds) await x.server.held(args.key);
    x.result(text(`paid ${args.key}`));
  },
  log: (x, args) => {
    ran(x, args);
    x.notify('notifications/message', { level: args.level ?? 'info', data: args.data });
    x.result(text(`paid ${args.key}`));
  },
  /** A log message at once, the answer after release(key). */
  log_then_hold: async (x, args) => {
    ran(x, args);
    x.notify('notifications/message', { level: 'info', data: 'begun' });
    await x.server.held(args.key);
    x.result(text(`paid ${args.key}`));
  },
  big: (x, args) => { ran(x, args); x.result(text('x'.repeat(args.bytes))); },
};

/** What is the same whichever way the bytes travel; the legacy HTTP+SSE server below uses it too. */
class Mcp {
  constructor({ name = 'http', tools = Object.keys(TOOLS), capabilities } = {}) {
    this.name = name;
    this.tools = tools;
    this.capabilities = capabilities ?? { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } };
    this.effects = [];
    this.deliveries = [];
    this.asking = new Map();
    this.asked = 0;
    this.holding = new Map();
    this.released = new Set();
    this.sessions = new Map();
    this.sockets = new Set();
    this.connections = 0;
    this.posts = 0; // being answered
    this.port = 0;
  }
  /** How many times a JSON-RPC method, or an HTTP verb without one, arrived. */
  count(what) {
    return this.deliveries.filter((d) => d.method === what || (!d.method && d.verb === what)).length;
  }
  /** Everything a new client asks for by itself was asked for and answered. */
  get isSettled() {
    const parts = this.capabilities.resources ? ['tools/list', 'resources/list', 'resources/templates/list'] : ['tools/list'];
    return this.posts === 0 && [...parts, 'GET'].every((what) => this.count(what) > 0);
  }
  /** How many times a call with this key was delivered, executed or not. */
  delivered(key) {
    return this.deliveries.filter((d) => d.key === key).length;
  }
  ran(key) {
    return this.effects.filter((k) => k === key).length;
  }
  held(key) {
    if (this.released.has(key)) return undefined;
    return new Promise((done) => this.holding.set(key, done));
  }
  release(key) {
    this.released.add(key);
    this.holding.get(key)?.();
  }
  log(verb, message, request, session) {
    this.deliveries.push({
      verb, method: message?.method, id: message?.id, session, at: performance.now(), connection: request.socket.serial,
      headers: request.headers, tool: message?.params?.name, key: message?.params?.arguments?.key, message,
    });
  }
  toolList() {
    return this.tools.map((tool) => (typeof tool === 'string' ? { name: tool, inputSchema: { type: 'object' } } : tool));
  }
  initializeResult(params) {
    return {
      protocolVersion: VERSIONS.includes(params.protocolVersion) ? params.protocolVersion : LAST_VERSION,
      capabilities: this.capabilities,
      serverInfo: { name: this.name, version: '1' },
    };
  }
  /** The answer of every method but tools/call; undefined: there is no such method. */
  resultOf({ method, params }) {
    switch (method) {
      case 'initialize': return this.initializeResult(params);
      case 'tools/list': return { tools: this.toolList() };
      case 'resources/list': return { resources: [{ uri: 'test://watched', name: 'watched' }] };
      case 'resources/templates/list': return { resourceTemplates: [] };
      case 'resources/read': return { contents: [{ uri: params.uri, text: 'read' }] };
      case 'ping': case 'logging/setLevel': case 'resources/subscribe': case 'resources/unsubscribe': return {};
      default: return undefined;
    }
  }
  perform(x) {
    const { message } = x;
    if (message.method === 'tools/call') {
      const tool = TOOLS[message.params.name];
      if (!tool || !this.toolList().some((t) => t.name === message.params.name)) return x.error(-32602, `no tool ${message.params.name}`);
      return tool(x, message.params.arguments ?? {});
    }
    const result = this.resultOf(message);
    return result ? x.result(result) : x.error(-32601, `no ${message.method} here`);
  }
  track(socket) {
    socket.serial = ++this.connections;
    this.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
  }
  /** Listens, on the port it had before if it had one. */
  async start() {
    const make = this.tls ? (handler) => https.createServer(this.tls, handler) : (handler) => http.createServer(handler);
    this.listener = make((request, response) => {
      response.on('error', () => {});
      if (request.method === 'POST') {
        this.posts++;
        response.on('close', () => { this.posts--; });
      }
      this.take(request, response).catch((error) => { this.broken = error; response.destroy(); });
    });
    this.listener.keepAliveTimeout = this.idleMs ?? 60000;
    this.listener.on(this.tls ? 'secureConnection' : 'connection', (socket) => this.track(socket));
    this.listener.on('clientError', (_, socket) => socket.destroy());
    await new Promise((done, fail) => { this.listener.once('error', fail).listen(this.port, '127.0.0.1', done); });
    this.port = this.listener.address().port;
    return this;
  }
  /** As a process that is killed: nobody listens, every connection is closed, every session is forgotten. */
  async stop() {
    const closed = new Promise((done) => { if (this.listener?.listening) this.listener.close(done); else done(); });
    for (const socket of this.sockets) socket.destroy();
    await closed;
    this.forget();
  }
  forget() {
    this.sessions.clear();
  }
  async restart() {
    await this.stop();
    await this.start();
  }
}

/** How servers in the wild say that they do not know a session. */
export const UNKNOWN = {
  400: (x) => x.status(400, { body: { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Bad Request: No valid session ID provided' } } }),
  401: (x) => x.status(401, { headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, body: { error: 'invalid_token' } }),
  403: (x) => x.status(403, { body: 'Forbidden' }),
  404: (x) => x.status(404, { body: { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } } }),
};

export class HttpServer extends Mcp {
  /**
   * unknown: status for a session it does not know; style: 'json' or 'sse'; hasIds: events carry ids and can be resumed;
   * hasGet: offers the standalone stream; isStateless: hands out no session; closesAfter: each answer ends its
   * connection; tls: { key, cert }; idleMs: closes idle connections.
   */
  constructor({ unknown = 404, style = 'json', hasIds = false, hasGet = false, hasDelete = true, isStateless = false, closesAfter = false, indent, tls, idleMs, ...mcp } = {}) {
    super(mcp);
    Object.assign(this, { unknown, style, hasIds, hasGet, hasDelete, isStateless, closesAfter, indent, tls, idleMs });
    this.path = '/mcp';
    this.front = undefined; // (x) => true if it answered: a balancer, a login page, an outage
  }
  get url() {
    return `${this.tls ? 'https' : 'http'}://127.0.0.1:${this.port}${this.path}`;
  }
  async take(request, response) {
    const bytes = request.method === 'POST' ? await readText(request) : undefined;
    const body = bytes && JSON.parse(bytes);
    const id = request.headers['mcp-session-id'];
    const session = this.sessions.get(id);
    const x = new Exchange(this, session, body ?? {}, request, response);
    x.text = bytes; // as it came
    if (this.closesAfter) response.shouldKeepAlive = false;
    this.log(request.method, body, request, id);
    if (this.front?.(x)) return undefined;
    if (request.url !== this.path) return x.status(404, { body: 'no such page' });
    if (body?.method === 'initialize') return this.#initialize(x);
    if (!session && !this.isStateless) return id === undefined ? x.status(400, { body: 'no session id' }) : UNKNOWN[this.unknown](x);
    if (request.method === 'GET') return this.#get(x);
    if (request.method === 'DELETE') return this.#delete(x);
    if (body.id === undefined || body.method === undefined) return this.#accept(x);
    return this.perform(x);
  }
  #initialize(x) {
    if (!this.isStateless) {
      x.session = { id: randomUUID(), streams: new Map(), get: undefined };
      this.sessions.set(x.session.id, x.session);
    }
    return this.perform(x);
  }
  /** A notification, or the client's answer to one of our requests. */
  #accept(x) {
    this.asking.get(x.message.id)?.(x.message);
    x.response.writeHead(202).end();
  }
  #get(x) {
    const last = x.request.headers['last-event-id'];
    if (last !== undefined) {
      const dot = last.lastIndexOf('.');
      const stream = x.session?.streams.get(last.slice(0, dot));
      return stream ? stream.attach(x.response, Number(last.slice(dot + 1))) : x.status(400, { body: 'no such event' });
    }
    if (!this.hasGet) return x.status(405, { headers: { allow: 'POST, DELETE' } });
    const stream = new EventStream(randomUUID(), this.hasIds);
    x.session.streams.set(stream.key, stream);
    x.session.get = stream;
    return stream.attach(x.response);
  }
  #delete(x) {
    if (!this.hasDelete) return x.status(405, { headers: { allow: 'POST, GET' } });
    this.sessions.delete(x.session?.id);
    return x.response.writeHead(204).end();
  }
  /** Tells every session by its standalone stream. */
  announce(method, params) {
    for (const session of this.sessions.values()) session.get?.send({ jsonrpc: '2.0', method, params });
  }
}

/** The transport of 2024-11-05: one GET stream, whose first event says where to POST; answers come on the stream. */
export class LegacySseServer extends Mcp {
  constructor({ unknown = 404, tls, ...mcp } = {}) {
    super(mcp);
    Object.assign(this, { unknown, tls });
    this.front = undefined;
  }
  get url() {
    return `${this.tls ? 'https' : 'http'}://127.0.0.1:${this.port}/sse`;
  }
  async take(request, response) {
    const url = new URL(request.url, 'http://x');
    const body = request.method === 'POST' ? JSON.parse(await readText(request)) : undefined;
    const id = url.searchParams.get('session');
    const session = this.sessions.get(id);
    const x = new LegacyExchange(this, session, body ?? {}, request, response);
    this.log(request.method, body, request, id ?? undefined);
    if (this.front?.(x)) return undefined;
    if (url.pathname === '/sse' && request.method === 'GET') return this.#open(x);
    if (url.pathname === '/sse') return x.status(405, { headers: { allow: 'GET' } });
    if (url.pathname !== '/messages') return x.status(404, { body: 'no such page' });
    if (!session) return UNKNOWN[this.unknown](x);
    response.writeHead(202).end('Accepted');
    if (body.method === undefined) this.asking.get(body.id)?.(body);
    return body.id === undefined || body.method === undefined ? undefined : this.perform(x);
  }
  #open(x) {
    const session = { id: randomUUID(), response: x.response };
    this.sessions.set(session.id, session);
    x.response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    x.response.write(`event: endpoint\ndata: /messages?session=${session.id}\n\n`);
  }
  announce(method, params) {
    for (const session of this.sessions.values()) session.response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`);
  }
}

class LegacyExchange extends Exchange {
  get socket() {
    return this.session?.response.socket ?? this.response.socket;
  }
  #event(message) {
    this.session.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }
  send(body) {
    this.#event(this.reply(body));
  }
  notify(method, params) {
    this.#event({ jsonrpc: '2.0', method, params });
  }
  ask(method, params) {
    const id = `ask-${++this.server.asked}`;
    this.#event({ jsonrpc: '2.0', id, method, params });
    return new Promise((done) => this.server.asking.set(id, done));
  }
}
