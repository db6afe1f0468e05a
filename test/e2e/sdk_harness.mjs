// sdk_harness.mjs - the official clients and servers of both eras, with holdfast in between.
//
// A guest is one official client, whatever its version, with one way to be asked and told things; a server is a
// process of test/servers/sdk_server.mjs whose logs say what it took, ran and was told.
import { spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import path from 'node:path';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { HOLDFAST, ROOT, SANITIZER, Server, environment, isAlive, isGone, killNow, until } from './harness.mjs';

const SCRIPT = path.join(ROOT, 'test/servers/sdk_server.mjs');
const REVISION = '2026-07-28';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** One server on an SDK. Over stdio holdfast starts it; over HTTP `start` does, always on the same port. */
export class SdkServer extends Server {
  /** `era`: legacy, modern or @FILE; `transport`: stdio, stdio-silent, stdio-exit or http. */
  constructor(dir, era, transport, name = `${era}-${transport}`) {
    super(dir, name);
    Object.assign(this, { era, transport, port: 0, command: process.execPath });
    this.logs = ['--effects', this.effectLog, '--instance-log', this.instanceLog, '--event-log', this.eventLog];
    this.args = [SCRIPT, era, transport, ...this.logs];
  }
  get isRemote() {
    return this.transport === 'http';
  }
  get url() {
    return `http://127.0.0.1:${this.port}/mcp`;
  }
  /** As it stands in a config file. */
  get config() {
    return this.isRemote ? { url: this.url } : { command: this.command, args: this.args };
  }
  /** Over HTTP only; resolves when it listens. */
  async start(t) {
    const before = this.count('port');
    this.child = spawn(process.execPath, [SCRIPT, this.era, String(this.port), ...this.logs], { stdio: ['pipe', 'ignore', 'inherit'] });
    t.after(() => this.child.kill('SIGKILL'));
    await until(() => this.count('port') > before, `${this.name} to listen`);
    this.port = Number(this.events().findLast((event) => event.startsWith('port ')).split(' ')[1]);
    return this;
  }
  async stop() {
    const { pid } = this.child;
    killNow(pid);
    await until(() => !isAlive(pid), `${this.name} to die`);
  }
  /** holdfast hears this server's news: of its lists, and of `uri` if given. */
  async hears(uri) {
    const isModern = this.count('got server/discover') > 0 && this.count('got initialize') === 0;
    const wish = uri && (isModern ? `"${uri}"` : `subscribe ${uri}`);
    await until(() => {
      const events = this.events();
      const asked = wish ? events.findIndex((event) => event.includes(wish)) : 0;
      if (asked < 0) return false;
      return isModern ? events.slice(asked).includes('listening') : !this.isRemote || events.includes('listening');
    }, () => `${this.name} to be listened to; it saw ${this.events()}`);
  }
}

const REPLIES = {
  'elicitation/create': () => ({ action: 'accept', content: { name: 'Ada' } }),
  'sampling/createMessage': () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Paris' } }),
  'roots/list': () => ({ roots: [{ uri: 'file:///project', name: 'project' }] }),
};
const KINDS = { 'elicitation/create': ElicitRequestSchema, 'sampling/createMessage': CreateMessageRequestSchema, 'roots/list': ListRootsRequestSchema };
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

/** The kinds of official clients, by how they are told apart. */
export const GUESTS = {
  v1: { isModern: false },
  v2_modern: { isModern: true, negotiation: { mode: { pin: REVISION } } },
  v2_legacy: { isModern: false, negotiation: { mode: 'legacy' } },
};

export class Guest {
  constructor(kind, { capabilities = CAPABILITIES, replies = {}, ...options } = {}) {
    const { isModern, negotiation } = GUESTS[kind];
    Object.assign(this, { kind, isModern, isV1: !negotiation, news: [], asked: [], stderr: '', replies: { ...REPLIES, ...replies } });
    const info = { name: `guest-${kind}`, version: '1' };
    this.client = this.isV1 ? new Client1(info, { capabilities }) : new Client2(info, { capabilities, versionNegotiation: negotiation, ...options });
    for (const [method, schema] of Object.entries(KINDS)) {
      if (!capabilities[method.split('/')[0]]) continue;
      this.client.setRequestHandler(this.isV1 ? schema : method, (request) => {
        this.asked.push(method);
        return this.replies[method](request.params);
      });
    }
    this.client.fallbackNotificationHandler = async (notification) => { this.news.push(notification); };
  }
  /** Starts a holdfast of its own, with these arguments. */
  async overStdio(t, dir, args, program = HOLDFAST) {
    const transport = new (this.isV1 ? Stdio1 : Stdio2)({ command: program, args, cwd: dir, env: environment(dir), stderr: 'pipe' });
    transport.stderr.on('data', (chunk) => { this.stderr += chunk; });
    await this.#connect(t, transport);
    this.pid = transport.pid;
    return this;
  }
  async overHttp(t, url) {
    await this.#connect(t, new (this.isV1 ? Http1 : Http2)(new URL(url)));
    return this;
  }
  async #connect(t, transport) {
    this.transport = transport;
    t.after(() => this.leave());
    await this.client.connect(transport).catch((error) => assert.fail(`${this.kind}: ${error.stack}\n${this.stderr.slice(-3000)}`));
  }
  /** Whoever started a holdfast also sees it go. */
  async leave() {
    if (this.hasLeft) return;
    this.hasLeft = true;
    if (this.transport.sessionId) await this.transport.terminateSession().catch(() => {});
    await this.client.close();
    if (this.pid) await until(() => isGone(this.pid), () => `holdfast to end; it says\n${this.stderr.slice(-3000)}`);
    assert.doesNotMatch(this.stderr, SANITIZER);
  }
  call(name, args = {}, { meta, ...options } = {}) {
    const params = { name, arguments: args, ...(meta ? { _meta: meta } : {}) };
    return this.isV1 ? this.client.callTool(params, undefined, options) : this.client.callTool(params, options);
  }
  /** The text that a call comes back with. */
  async text(name, args, options) {
    const result = await this.call(name, args, options);
    return result.content[0].text;
  }
  async toolNames() {
    const { tools } = this.isV1 ? await this.client.listTools() : await this.client.listTools(undefined, { cacheMode: 'refresh' });
    return tools.map((tool) => tool.name);
  }
  /** Wants to be told of changed tools, and of changes of this resource. */
  async listen(uri) {
    if (this.isModern) {
      this.ear = await this.client.listen({ toolsListChanged: true, ...(uri ? { resourceSubscriptions: [uri] } : {}) });
    } else if (uri) {
      await this.client.subscribeResource({ uri });
    }
  }
  /** From now on log messages of this level and above; what a call must carry for it. */
  async wantLogs(level) {
    if (this.isModern) return { [LOG_LEVEL]: level };
    await this.client.setLoggingLevel(level);
    return undefined;
  }
  told(method) {
    return this.news.filter((notification) => notification.method === method).map((notification) => notification.params);
  }
  waitFor(method, fits = () => true) {
    return until(() => this.told(method).find(fits), () => `${method}; came ${JSON.stringify(this.news)}\n${this.stderr.slice(-2000)}`);
  }
}
