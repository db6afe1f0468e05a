// harness.mjs - starts the real holdfast, talks to it line by line, and looks at what it leaves behind.
//
// 1. Tests wait for events (an answer, a log line, a process that is gone), never for a time to pass.
//    `until` polls inside this file only, in small bounded steps.
// 2. Every request must be answered exactly once: an answer nobody waits for is kept in `strays`, and
//    `finish` fails on it.
// 3. Whatever a test starts is gone when it ends, also when it failed.
import { spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const BUILD = path.resolve(process.env.HOLDFAST_BUILD ?? path.join(ROOT, 'build'));
export const EFFECTS = process.env.HOLDFAST_EFFECTS ?? path.join(BUILD, 'test/effects');
// The sanitized program unless a test measures, or HOLDFAST_SAN=0 says otherwise.
export const HOLDFAST = path.join(BUILD, process.env.HOLDFAST_SAN === '0' ? 'holdfast' : 'san/holdfast');
export const PLAIN_HOLDFAST = path.join(BUILD, 'holdfast');
const PATIENCE_MS = Number(process.env.HOLDFAST_PATIENCE_MS ?? 20000);
export const SANITIZER = /AddressSanitizer|LeakSanitizer|runtime error:|Assertion .* failed|a bug of holdfast/;

let scratches = 0;
process.on('exit', (code) => { // what failed is kept to be looked at
  const mine = (i) => path.join(BUILD, 'tmp', `${process.pid}-${i}`);
  for (let i = 1; !code && i <= scratches; i++) fs.rmSync(mine(i), { recursive: true, force: true });
});
export function scratch() {
  const dir = path.join(BUILD, 'tmp', `${process.pid}-${++scratches}`);
  fs.rmSync(dir, { recursive: true, force: true });
  fs.mkdirSync(dir, { recursive: true });
  return dir;
}

/** Resolves with the first truthy value of `look`; fails loudly, with `what`, when patience ends. */
export async function until(look, what, ms = PATIENCE_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (Date.now() > end) {
      assert.fail(`waited ${ms} ms in vain for ${typeof what === 'function' ? what() : what}`);
    }
    await new Promise((done) => setTimeout(done, 3));
  }
}

/** For what is defined by a span of time (a cancel "more than 10 s after dispatch"), and only that. */
export function elapse(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

export function lines(file) {
  try {
    return fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

/** The one-letter state of a process, or undefined if there is none. */
export function processState(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0];
  } catch {
    return undefined;
  }
}
export const isAlive = (pid) => !['Z', 'X', undefined].includes(processState(pid));
export const isGone = (pid) => processState(pid) === undefined;

export function killNow(pid, signal = 'SIGKILL') {
  process.kill(pid, signal);
}

/** For what a failed test left behind: a pid is only a number, so its command line must fit. */
export function killIfOurs(pid, part) {
  try {
    if (fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(part)) killNow(pid);
  } catch { /* gone, as it should be */ }
}

/** Stops a process and returns when it really stands. */
export async function stop(pid) {
  killNow(pid, 'SIGSTOP');
  await until(() => processState(pid) === 'T', `process ${pid} to stop`);
}

/** A server's log files and its command line; several servers of one test have one each. */
export class Server {
  constructor(dir, name = 'effects', flags = []) {
    this.name = name;
    this.effectLog = path.join(dir, `${name}.effects`);
    this.instanceLog = path.join(dir, `${name}.instances`);
    this.eventLog = path.join(dir, `${name}.events`);
    this.armFile = path.join(dir, `${name}.arm`);
    this.dieFile = path.join(dir, `${name}.die`);
    this.failFile = path.join(dir, `${name}.fail`);
    this.command = EFFECTS;
    this.args = [
      '--name', name, '--effects', this.effectLog, '--instance-log', this.instanceLog,
      '--event-log', this.eventLog, '--die-after-bytes-in', this.armFile, '--die-once', this.dieFile,
      '--fail-starts', this.failFile, ...flags,
    ];
  }
  /** Keys in the order in which they took effect; one key twice is a call that ran twice. */
  effects(key) {
    const keys = lines(this.effectLog).map((line) => line.split(' ')[0]);
    return key === undefined ? keys : keys.filter((k) => k === key).length;
  }
  effectTimes() {
    return Object.fromEntries(lines(this.effectLog).map((line) => {
      const [key, , ns] = line.split(' ');
      return [key, Number(ns) / 1e6];
    }));
  }
  starts() {
    return lines(this.instanceLog).filter((line) => line.startsWith('start ')).map((line) => {
      const [, pid, ns] = line.split(' ');
      return { pid: Number(pid), ms: Number(ns) / 1e6 };
    });
  }
  grandchildren() {
    return lines(this.instanceLog).filter((l) => l.startsWith('grandchild ')).map((l) => Number(l.split(' ')[1]));
  }
  poisoned() {
    return lines(this.instanceLog).filter((line) => line.startsWith('poisoned ')).length;
  }
  /** Lines of the event log, without the pid; of one process if `pid` is given. */
  events(pid) {
    return lines(this.eventLog).filter((l) => pid === undefined || l.startsWith(`${pid} `)).map((l) => l.replace(/^\d+ /, ''));
  }
  count(event, pid) {
    return this.events(pid).filter((e) => e === event || e.startsWith(`${event} `)).length;
  }
  pid() {
    return this.starts().at(-1)?.pid;
  }
  pids() {
    return [...this.starts().map((s) => s.pid), ...this.grandchildren()];
  }
  /** After reading exactly `bytes` more bytes the running server dies. Written whole or not at all. */
  arm(bytes) {
    fs.writeFileSync(`${this.armFile}.new`, `${bytes}\n`);
    fs.renameSync(`${this.armFile}.new`, this.armFile);
  }
  /** The next request for this method or tool takes effect and dies unanswered. */
  dieOnceAt(what) {
    fs.writeFileSync(`${this.dieFile}.new`, `${what}\n`);
    fs.renameSync(`${this.dieFile}.new`, this.dieFile);
  }
  failStarts(on = true) {
    if (on) fs.writeFileSync(this.failFile, '');
    else fs.rmSync(this.failFile, { force: true });
  }
  async kill() {
    const pid = this.pid();
    killNow(pid);
    await until(() => !isAlive(pid), `server ${pid} to die`);
    return pid;
  }
}

/** A running program with a JSON-RPC peer on its stdin and stdout: holdfast, or a server directly. */
export class Peer {
  constructor(command, args, { cwd, env = process.env } = {}) {
    this.child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.pid = this.child.pid;
    this.nextId = 1;
    this.waiting = new Map(); // id as JSON text -> list of takers, oldest first
    this.strays = [];
    this.messages = []; // notifications, in order
    this.rawAnswers = new Map(); // id as JSON text -> the line as it came
    this.requests = []; // of the server to the client
    this.stderr = '';
    this.stdoutEnded = false;
    this.onRequest = (request) => ({ error: { code: -32601, message: `no ${request.method} here` } });
    this.chunks = [];
    this.child.stdout.on('data', (chunk) => this.#take(chunk));
    this.child.stdout.on('end', () => { this.stdoutEnded = true; });
    this.child.stderr.on('data', (chunk) => { this.stderr += chunk; });
    this.child.stdin.on('error', () => {});
    this.child.on('error', (error) => { this.stderr += `${error}\n`; });
    this.exited = new Promise((done) => this.child.on('close', (code, signal) => {
      this.exit = { code, signal };
      for (const takers of this.waiting.values()) {
        for (const taker of takers) taker.fail(new Error(`the connection ended; stderr:\n${this.stderr.slice(-2000)}`));
      }
      this.waiting.clear();
      done(this.exit);
    }));
  }

  #take(chunk) {
    let from = 0;
    for (let at; (at = chunk.indexOf(10, from)) >= 0; from = at + 1) {
      this.chunks.push(chunk.subarray(from, at));
      const line = Buffer.concat(this.chunks).toString('utf8');
      this.chunks = [];
      this.#message(line);
    }
    if (from < chunk.length) this.chunks.push(chunk.subarray(from));
  }

  #message(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.strays.push(line.slice(0, 300));
      return;
    }
    readFailure(message);
    if (message.method !== undefined && message.id !== undefined) {
      this.requests.push(message);
      Promise.resolve(this.onRequest(message)).then((reply) => {
        if (reply) this.send({ jsonrpc: '2.0', id: message.id, ...reply });
      });
    } else if (message.method !== undefined) {
      this.messages.push(message);
    } else {
      this.#answer(message, line);
    }
  }

  #answer(message, line) {
    const key = JSON.stringify(message.id);
    const takers = this.waiting.get(key);
    if (!takers) {
      this.strays.push(line.slice(0, 300));
      return;
    }
    const taker = takers.shift();
    if (takers.length === 0) this.waiting.delete(key);
    if (line.length < 1e6) this.rawAnswers.set(key, line);
    taker.done(message);
  }

  /** Writes a message, or bytes as they are. */
  send(message) {
    this.child.stdin.write(typeof message === 'string' || Buffer.isBuffer(message) ? message : `${JSON.stringify(message)}\n`);
  }
  notify(method, params) {
    this.send({ jsonrpc: '2.0', method, params });
  }
  /** The answer to an id that is or will be sent by other means. */
  answerTo(id, what = `an answer to ${JSON.stringify(id)}`, ms = PATIENCE_MS) {
    const key = JSON.stringify(id);
    return new Promise((done, fail) => {
      const late = setTimeout(() => {
        fail(new Error(`no answer to ${what} within ${ms} ms; stderr:\n${this.stderr.slice(-3000)}`));
      }, ms);
      const end = (act) => (value) => { clearTimeout(late); act(value); };
      const taker = { done: end(done), fail: end(fail) };
      if (!this.waiting.has(key)) this.waiting.set(key, []);
      this.waiting.get(key).push(taker);
    });
  }
  /** A request whose promise also tells its id: `const call = peer.request(…); call.id`. */
  request(method, params, { id = this.nextId++, ms } = {}) {
    const answer = this.answerTo(id, `${method} ${JSON.stringify(params ?? {}).slice(0, 120)}`, ms);
    answer.catch(() => {}); // a test that failed earlier must not die of this one
    this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
    answer.id = id;
    return answer;
  }
  call(name, args = {}, { meta, ...rest } = {}) {
    return this.request('tools/call', { name, arguments: args, ...(meta ? { _meta: meta } : {}) }, rest);
  }
  async initialize({ version = '2025-11-25', capabilities = {}, info = { name: 'e2e', version: '1' } } = {}) {
    const answer = await this.request('initialize', { protocolVersion: version, capabilities, clientInfo: info });
    this.notify('notifications/initialized');
    return answer.result ?? assert.fail(`initialize was answered with ${JSON.stringify(answer)}`);
  }
  /** All that was written before has been read and handled when this returns. */
  async settle() {
    for (let i = 0; i < 3; i++) await this.request('ping');
  }
  async tools() {
    const names = [];
    let cursor;
    do {
      const { result } = await this.request('tools/list', cursor === undefined ? {} : { cursor });
      names.push(...result.tools);
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    return names;
  }
  async toolNames() {
    return (await this.tools()).map((tool) => tool.name);
  }
  /** How often a notification came so far. */
  count(method) {
    return this.messages.filter((m) => m.method === method).length;
  }
  /** The first notification that fits, now or later. */
  waitFor(method, fits = () => true) {
    const find = () => this.messages.find((m) => m.method === method && fits(m.params));
    return until(find, () => `${method}; came: ${JSON.stringify(this.messages).slice(0, 1500)}`);
  }
  waitForStderr(pattern) {
    return until(() => this.stderr.match(pattern), () => `${pattern} on stderr, which says:\n${this.stderr.slice(-3000)}`);
  }
  countStderr(pattern) {
    return (this.stderr.match(new RegExp(pattern, 'g')) ?? []).length;
  }
  end() {
    this.child.stdin.end();
  }
  async exitWithin(ms = PATIENCE_MS) {
    await until(() => this.exit, () => `process ${this.pid} to exit; stderr:\n${this.stderr.slice(-3000)}`, ms);
    return this.exit;
  }
}

/**
 * A tool call that failed is a result which carries its outcome (DESIGN 7); other requests get an error. Tests read both as
 * `error`: here the outcome is given that name, beside the result as it came.
 */
export function readFailure(message) {
  const outcome = message?.result?._meta?.['dev.holdfast/outcome'];
  if (!outcome) return message;
  const { code, ...data } = outcome;
  return Object.defineProperty(message, 'error', { value: { code, message: message.result.content[0].text, data } });
}

export function textOf(answer) {
  assert.ok(answer.result && !answer.error, `expected a result, got ${JSON.stringify(answer).slice(0, 600)}`);
  return answer.result.content[0].text;
}

/** Checks one of our errors whole (DESIGN 7), and returns its data. `serverless`: it is about no server. */
export function assertOurError(answer, code, expected = {}, { serverless = false } = {}) {
  assert.ok(answer.error, `expected an error, got ${JSON.stringify(answer).slice(0, 600)}`);
  const { error } = answer;
  assert.equal(error.code, code, JSON.stringify(error));
  if (answer.result) { // of a tool: the model reads the text, and nothing in it makes a client send the call again
    assert.equal(answer.result.isError, true, JSON.stringify(answer));
    assert.equal(answer.result.structuredContent, undefined);
    assert.doesNotMatch(error.message, /"|connection|session|not connected|fetch failed|http \d/i);
  }
  assert.ok(error.message.length > 10, 'an error is a sentence that somebody can act on');
  assert.equal(typeof error.data.dispatched, 'boolean', JSON.stringify(error));
  assert.equal(error.data.retrySafe, !error.data.dispatched, JSON.stringify(error));
  for (const key of ['retry', 'evidence', 'reason', ...(serverless ? [] : ['server', 'state'])]) {
    assert.equal(typeof error.data[key], 'string', `data.${key} in ${JSON.stringify(error)}`);
  }
  for (const [key, value] of Object.entries(expected)) {
    assert.deepEqual(error.data[key], value, `data.${key} in ${JSON.stringify(error)}`);
  }
  return error.data;
}

/** Environment of every holdfast here: its state stays in the scratch directory. */
export function environment(dir, extra) {
  // dumpable, or only root could count its descriptors
  return { ...process.env, HOLDFAST_STATE_DIR: path.join(dir, 'state'), HOLDFAST_DUMPABLE: '1', ...extra };
}

export class Holdfast extends Peer {
  constructor(t, dir, servers, program, args, env) {
    super(program, args, { cwd: dir, env: environment(dir, env) });
    this.dir = dir;
    this.servers = servers;
    t.after(() => this.#sweep());
  }
  get server() {
    return Object.values(this.servers)[0];
  }
  #sweep() {
    if (!this.exit) killIfOurs(this.pid, 'holdfast');
    for (const server of Object.values(this.servers)) {
      for (const pid of server.pids()) killIfOurs(pid, 'effects');
    }
  }
  /** Nothing of any server is left, not even a zombie. */
  async assertNoOrphans(ms = 5000) {
    for (const server of Object.values(this.servers)) {
      for (const pid of server.pids()) await until(() => isGone(pid), `process ${pid} of ${server.name} to be gone`, ms);
    }
  }
  /** Client closes; holdfast ends well, leaves nobody behind, and said nothing twice. */
  async finish({ code = 0, signal = null } = {}) {
    this.end();
    const exit = await this.exitWithin();
    assert.doesNotMatch(this.stderr, SANITIZER);
    assert.deepEqual(exit, { code, signal }, this.stderr.slice(-3000));
    assert.deepEqual(this.strays, [], 'answers that nobody asked for');
    await this.assertNoOrphans();
  }
}

/** `holdfast run OPTIONS -- effects FLAGS`, not yet initialized. */
export function run(t, { options = [], flags = [], env = {}, program = HOLDFAST, command, name = 'effects', failsStarts = false } = {}) {
  const dir = scratch();
  const server = new Server(dir, name, flags);
  if (failsStarts) server.failStarts(); // before anybody starts it
  const args = ['run', '--name', name, ...options, '--', ...(command ?? [server.command, ...server.args])];
  return new Holdfast(t, dir, { [name]: server }, program, args, env);
}

/** As `run`, initialized and with the server up: a call has been served. */
export async function runReady(t, { capabilities, ...setup } = {}) {
  const hf = run(t, setup);
  await hf.initialize({ capabilities });
  textOf(await hf.call('echo', { text: 'ready' }));
  return hf;
}

/** `holdfast stdio -c FILE`; `servers` maps names to { flags, ...config keys }. */
export function stdio(t, { servers, defaults, holdfast = {}, options = [], env = {}, program = HOLDFAST, dir = scratch() }) {
  const known = {};
  const mcpServers = {};
  for (const [name, { flags = [], ...keys }] of Object.entries(servers)) {
    known[name] = new Server(dir, name.replace(/[^A-Za-z0-9_-]/g, '_'), flags);
    mcpServers[name] = { command: known[name].command, args: known[name].args, ...keys };
  }
  const file = path.join(dir, 'config.json');
  fs.writeFileSync(file, JSON.stringify({ mcpServers, holdfast: { ...holdfast, ...(defaults ? { defaults } : {}) } }, null, 2));
  return new Holdfast(t, dir, known, program, ['stdio', '-c', file, ...options], env);
}

export async function stdioReady(t, setup) {
  const hf = stdio(t, setup);
  await hf.initialize({ capabilities: setup.capabilities });
  await hf.tools();
  return hf;
}

/** A command to its end: { code, signal, stdout, stderr }. */
export function command(args, { input = '', env = {}, cwd = scratch(), program = HOLDFAST } = {}) {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { cwd, env: environment(cwd, env) });
    const out = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => { out.stdout += chunk; });
    child.stderr.on('data', (chunk) => { out.stderr += chunk; });
    child.stdin.on('error', () => {});
    child.on('error', fail);
    child.on('close', (code, signal) => done({ code, signal, ...out }));
    child.stdin.end(input);
  });
}
