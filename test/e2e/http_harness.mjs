// http_harness.mjs - holdfast behind HTTP: `serve` and `bridge`, a client that sees every header and event, raw bytes.
//
// 1. Tests wait for events, as in harness.mjs; nothing here sleeps.
// 2. A request is one exchange: its status, headers and events can all be looked at (`answer.trip`).
// 3. Whatever a test starts is gone when it ends: processes, sockets and servers.
import { execFileSync, spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { BUILD, HOLDFAST, Holdfast, SANITIZER, Server, environment, readFailure, scratch, until } from './harness.mjs';
import { HttpServer, LegacySseServer } from '../servers/http_server.mjs';

/** A fixture server that runs until the test ends. */
export async function httpServer(t, options) {
  const server = new HttpServer(options);
  t.after(() => server.stop());
  return server.start();
}

export async function sseServer(t, options) {
  const server = new LegacySseServer(options);
  t.after(() => server.stop());
  return server.start();
}

/** A CA, a certificate of it for 127.0.0.1, and one of somebody else; made once for each build directory. */
export function certificates() {
  const dir = path.join(BUILD, 'certs');
  const file = (name) => path.join(dir, name);
  if (!fs.existsSync(file('done'))) {
    const fresh = `${dir}.${process.pid}`;
    fs.mkdirSync(fresh, { recursive: true });
    const openssl = (...args) => execFileSync('openssl', args, { cwd: fresh, stdio: 'pipe' });
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    for (const ca of ['ca', 'stranger']) {
      openssl('req', '-x509', ...key, '-keyout', `${ca}.key`, '-out', `${ca}.pem`, '-days', '30', '-subj', `/CN=${ca}`);
    }
    openssl('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
    fs.writeFileSync(path.join(fresh, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
    openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30',
      '-out', 'server.pem', '-extfile', 'names');
    fs.writeFileSync(path.join(fresh, 'done'), '');
    try {
      fs.renameSync(fresh, dir);
    } catch (error) { // another test file was faster
      if (!fs.existsSync(file('done'))) throw error;
      fs.rmSync(fresh, { recursive: true });
    }
  }
  return {
    ca: file('ca.pem'), stranger: file('stranger.pem'), certFile: file('server.pem'), keyFile: file('server.key'),
    pair: { cert: fs.readFileSync(file('server.pem')), key: fs.readFileSync(file('server.key')) },
  };
}

/** `servers` maps names to { http: a fixture } or { flags } (a stdio effects server) or plain config keys, each with options. */
export function writeConfig(dir, { servers = {}, defaults, holdfast = {} }) {
  const known = {};
  const mcpServers = {};
  for (const [name, { http: fixture, flags, ...keys }] of Object.entries(servers)) {
    if (fixture) {
      mcpServers[name] = { url: fixture.url, ...keys };
    } else if (keys.url || keys.command) {
      mcpServers[name] = keys;
    } else {
      known[name] = new Server(dir, name, flags);
      mcpServers[name] = { command: known[name].command, args: known[name].args, ...keys };
    }
  }
  const file = path.join(dir, 'config.json');
  fs.writeFileSync(file, JSON.stringify({ mcpServers, holdfast: { ...holdfast, ...(defaults ? { defaults } : {}) } }, null, 2));
  return { file, known };
}

/** One fixture behind `holdfast stdio`, under its own names: what is tested is the way to the server. */
export function stdioTo(t, fixture, keys = {}, { options = [], env = {}, holdfast } = {}) {
  const dir = scratch();
  const { file } = writeConfig(dir, { servers: { http: { http: fixture, prefix: 'never', ...keys } }, holdfast });
  return new Holdfast(t, dir, {}, HOLDFAST, ['stdio', '-c', file, ...options], env);
}

/** As stdioTo, initialized, and the fixture connected: all it offers was listed, and nothing more is under way. */
export async function connectedTo(t, fixture, keys, { capabilities, version, ...setup } = {}) {
  const hf = stdioTo(t, fixture, keys, setup);
  await hf.initialize({ capabilities, version });
  assert.ok((await hf.toolNames()).length > 0, `the fixture was not listed:\n${hf.stderr.slice(-2000)}`);
  await until(() => fixture.isSettled, () => `the fixture to be left alone: ${fixture.deliveries.map((d) => d.method ?? d.verb)}`);
  return hf;
}

/** `holdfast bridge URL`, not yet initialized. */
export function bridge(t, url, { options = [], env = {} } = {}) {
  return new Holdfast(t, scratch(), {}, HOLDFAST, ['bridge', ...options, url], env);
}

/** A running `holdfast serve`. */
export class Gateway {
  constructor(t, setup = {}) {
    const { options = [], env = {}, program = HOLDFAST, dir = scratch() } = setup;
    const { file, known } = writeConfig(dir, setup);
    Object.assign(this, { dir, servers: known, config: file, stdout: '', stderr: '' });
    const args = ['serve', '-c', file, '--listen', setup.listen ?? '127.0.0.1:0', ...options];
    this.child = spawn(program, args, { cwd: dir, env: environment(dir, env), stdio: ['ignore', 'pipe', 'pipe'] });
    this.pid = this.child.pid;
    this.child.stdout.on('data', (chunk) => { this.stdout += chunk; });
    this.child.stderr.on('data', (chunk) => { this.stderr += chunk; });
    this.exited = new Promise((done) => this.child.on('close', (code, signal) => { this.exit = { code, signal }; done(this.exit); }));
    this.clients = [];
    t.after(() => {
      for (const client of this.clients) client.leave();
      if (!this.exit) this.child.kill('SIGKILL');
    });
  }
  async ready() {
    const said = () => this.exit || this.stdout.match(/^listening on (https?):\/\/(\S+):(\d+)$/m);
    const hit = await until(said, () => `"listening on"; it says:\n${this.stdout}${this.stderr}`);
    assert.ok(Array.isArray(hit), `serve ended with ${JSON.stringify(hit)}:\n${this.stderr}`);
    assert.equal(this.stdout.indexOf(hit[0]), 0, `the first line says where it listens:\n${this.stdout}`);
    [, this.scheme, this.address, this.port] = hit;
    this.port = Number(this.port);
    this.origin = `${this.scheme}://${this.address}:${this.port}`;
    return this;
  }
  client(endpoint = '/mcp', options = {}) {
    const client = new HttpClient(this, endpoint, options);
    this.clients.push(client);
    return client;
  }
  /** A client that has introduced itself. */
  async join(endpoint, options) {
    const client = this.client(endpoint, options);
    await client.initialize();
    return client;
  }
  waitForStderr(pattern) {
    return until(() => this.stderr.match(pattern), () => `${pattern} on stderr, which says:\n${this.stderr.slice(-3000)}`);
  }
  rssKb() {
    return Number(fs.readFileSync(`/proc/${this.pid}/status`, 'utf8').match(/VmRSS:\s*(\d+)/)[1]);
  }
  descriptors() {
    return fs.readdirSync(`/proc/${this.pid}/fd`).length;
  }
  async get(target, headers = {}) {
    const trip = new Trip(this, 'GET', target, { headers });
    await trip.ended;
    return trip;
  }
  async stop(signal = 'SIGTERM') {
    if (!this.exit) this.child.kill(signal);
    await until(() => this.exit, () => `serve to exit; stderr:\n${this.stderr.slice(-3000)}`);
    return this.exit;
  }
  /** Ends well, and nothing it said is a bug. */
  async finish({ code = 0, signal = null } = {}) {
    for (const client of this.clients) client.leave();
    const exit = await this.stop();
    assert.doesNotMatch(this.stderr, SANITIZER);
    assert.deepEqual(exit, { code, signal }, this.stderr.slice(-3000));
  }
}

export async function serve(t, setup) {
  return new Gateway(t, setup).ready();
}

/** One HTTP request and everything that came back. */
export class Trip {
  constructor(gateway, verb, target, { headers = {}, body, agent } = {}) {
    const { request } = gateway.scheme === 'https' ? https : http;
    Object.assign(this, { events: [], text: '', isEnded: false, takers: [], onMessage: () => {} });
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    this.request = request({
      host: gateway.address, port: gateway.port, method: verb, path: target, agent, headers: { ...length, ...headers }, ca: gateway.ca,
    });
    this.head = new Promise((done, fail) => {
      this.request.on('error', (error) => { this.error = error; fail(error); });
      this.request.on('response', (response) => { this.#take(response); done(this); });
    });
    this.head.catch(() => {});
    this.ended = new Promise((done) => this.request.on('close', () => {
      this.isEnded = true;
      this.#fail();
      done(this);
    }));
    this.request.end(body);
  }
  get status() {
    return this.response?.statusCode;
  }
  get headers() {
    return this.response?.headers ?? {};
  }
  get isStream() {
    return /^text\/event-stream/.test(this.headers['content-type'] ?? '');
  }
  #take(response) {
    this.response = response;
    let rest = '';
    response.setEncoding('utf8');
    response.on('error', (error) => { this.error ??= error; });
    response.on('data', (chunk) => {
      this.text += chunk;
      if (!this.isStream) return;
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) this.#event(block);
    });
    response.on('end', () => {
      if (!this.isStream && /^application\/json/.test(this.headers['content-type'] ?? '')) {
        for (const message of [JSON.parse(this.text)].flat()) this.#message(message);
      }
    });
  }
  #event(block) {
    const event = { data: '' };
    for (const line of block.split('\n')) {
      const [, field, value] = line.match(/^([^:]*):? ?(.*)$/);
      if (field === 'data') event.data += value;
      else if (field !== '') event[field] = value;
    }
    if (Object.keys(event).length === 1 && event.data === '') return; // a comment
    this.events.push(event);
    if (event.data !== '' && (event.event ?? 'message') === 'message') this.#message(JSON.parse(event.data));
  }
  #message(message) {
    readFailure(message);
    this.messages ??= [];
    this.messages.push(message);
    if (message.method === undefined) {
      for (const taker of this.takers.filter((t) => t.fits(message))) taker.done(message);
      this.takers = this.takers.filter((t) => !t.fits(message));
    }
    this.onMessage(message);
  }
  #fail() {
    const what = () => new Error(`no answer: status ${this.status}, ${this.error ?? 'no error'}, ${this.text.slice(0, 500)}`);
    for (const taker of this.takers) taker.fail(what());
    this.takers = [];
  }
  /** The JSON-RPC response with this id, now or later. */
  answer(id) {
    const fits = (m) => JSON.stringify(m.id) === JSON.stringify(id);
    const here = this.messages?.find((m) => m.method === undefined && fits(m));
    if (here) return Promise.resolve(here);
    return new Promise((done, fail) => {
      this.takers.push({ fits, done, fail });
      if (this.isEnded) this.#fail();
    });
  }
  /** The first event that fits, now or later. */
  event(fits, what = 'an event') {
    return until(() => this.events.find(fits), () => `${what}; came: ${this.text.slice(-1000)}`);
  }
  /** The client goes away, without a word. */
  abort() {
    this.request.destroy();
  }
}

/** A client of Streamable HTTP that keeps all it saw. */
export class HttpClient {
  constructor(gateway, endpoint, { version = '2025-11-25', token, capabilities = {}, headers = {}, info = { name: 'e2e', version: '1' } } = {}) {
    Object.assign(this, { gateway, endpoint, version, capabilities, headers, info, nextId: 1, messages: [], requests: [], trips: [] });
    if (token) this.headers = { ...headers, authorization: `Bearer ${token}` };
    this.agent = new (gateway.scheme === 'https' ? https : http).Agent({ keepAlive: true });
    this.onRequest = (request) => ({ error: { code: -32601, message: `no ${request.method} here` } });
  }
  /** Any request to the endpoint with everything this client usually sends; a header set to undefined is left out. */
  trip(verb, { body, headers = {}, target = this.endpoint } = {}) {
    const usual = {
      ...(verb === 'POST' ? { 'content-type': 'application/json', accept: 'application/json, text/event-stream' } : {}),
      ...(verb === 'GET' ? { accept: 'text/event-stream' } : {}),
      ...(this.session ? { 'mcp-session-id': this.session } : {}),
      ...(this.agreed && this.agreed >= '2025-06-18' ? { 'mcp-protocol-version': this.agreed } : {}),
    };
    const all = Object.entries({ ...usual, ...this.headers, ...headers }).filter(([, value]) => value !== undefined);
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const trip = new Trip(this.gateway, verb, target, { headers: Object.fromEntries(all), body: text, agent: this.agent });
    trip.onMessage = (message) => this.#message(message);
    this.trips.push(trip);
    return trip;
  }
  #message(message) {
    if (message.method !== undefined && message.id !== undefined) {
      this.requests.push(message);
      Promise.resolve(this.onRequest(message)).then((reply) => {
        if (reply) this.post({ jsonrpc: '2.0', id: message.id, ...reply });
      });
    } else if (message.method !== undefined) {
      this.messages.push(message);
    }
  }
  post(message, headers) {
    return this.trip('POST', { body: message, headers });
  }
  /** A request whose promise also tells its id and its trip. */
  request(method, params, { id = this.nextId++, headers } = {}) {
    const trip = this.post({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }, headers);
    const answer = trip.answer(id);
    answer.catch(() => {});
    return Object.assign(answer, { id, trip });
  }
  call(name, args = {}, { meta, ...rest } = {}) {
    return this.request('tools/call', { name, arguments: args, ...(meta ? { _meta: meta } : {}) }, rest);
  }
  async notify(method, params) {
    const trip = this.post({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
    await trip.ended;
    return trip;
  }
  async initialize() {
    const call = this.request('initialize', { protocolVersion: this.version, capabilities: this.capabilities, clientInfo: this.info });
    const answer = await call;
    assert.ok(answer.result, `initialize was answered with ${JSON.stringify(answer)}`);
    this.session = call.trip.headers['mcp-session-id'];
    this.agreed = answer.result.protocolVersion;
    assert.equal((await this.notify('notifications/initialized')).status, 202);
    return answer.result;
  }
  async toolNames() {
    const { result } = await this.request('tools/list');
    return result.tools.map((tool) => tool.name);
  }
  /** The standalone stream; with an event id, the one it belongs to. */
  async listen(lastEventId) {
    const trip = this.trip('GET', { headers: { 'last-event-id': lastEventId } });
    await trip.head;
    return trip;
  }
  count(method) {
    return this.messages.filter((m) => m.method === method).length;
  }
  waitFor(method, fits = () => true) {
    const find = () => this.messages.find((m) => m.method === method && fits(m.params));
    return until(find, () => `${method}; came: ${JSON.stringify(this.messages).slice(0, 1500)}`);
  }
  /** Everything this client has open is closed, with no DELETE. */
  leave() {
    for (const trip of this.trips) if (!trip.isEnded) trip.abort();
    this.agent.destroy();
  }
}

/** Bytes on a fresh connection: what came back, and whether the other end closed. */
export function rawConnection(gateway) {
  const socket = gateway.scheme === 'https'
    ? tls.connect({ host: gateway.address, port: gateway.port, ca: gateway.ca })
    : net.connect({ host: gateway.address, port: gateway.port });
  const raw = { socket, text: '', isClosed: false };
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => { raw.text += chunk; });
  socket.on('error', (error) => { raw.error = error; });
  socket.on('end', () => { raw.isEnded = true; });
  socket.on('close', () => { raw.isClosed = true; });
  return raw;
}
