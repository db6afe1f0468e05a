// paths.mjs - the ways from a client to a server through holdfast, each built anew for every row.
//
// A path has `target`, what the client connects to, and the servers at its far end: `local`, which holdfast starts, and
// `remote`, which somebody else does. Each server's own log says what took effect. Every holdfast that a client starts,
// also a second one, notes its process id and its words in files: a client keeps both to itself.
import assert from 'node:assert/strict';
import path from 'node:path';
import { HOLDFAST, SANITIZER, Server, environment, isGone, killIfOurs, lines, scratch, until } from '../e2e/harness.mjs';
import { httpServer, serve } from '../e2e/http_harness.mjs';

// The tool that will be lost promises structured content and allows to be sent again: the truth about it is told in
// plain text all the same, and nobody is given a reason to use the permission.
const PROMISES = { type: 'object', properties: { paid: { type: 'string' } }, required: ['paid'] };
const inputSchema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
const LOST = { name: 'hold', description: 'pays, and waits', inputSchema, outputSchema: PROMISES, annotations: { idempotentHint: true } };
const REMOTE_TOOLS = [{ name: 'pay', description: 'pays', inputSchema }, LOST];
const NOTED = 'echo $$ >>"$0.pids"; exec "$@" 2>>"$0.log"';

/** A holdfast for a client to start; `said` is its log, `ended` waits until it is gone. */
function program(t, dir, args) {
  const base = path.join(dir, 'holdfast');
  const pids = () => lines(`${base}.pids`).map(Number);
  t.after(() => { for (const pid of pids()) killIfOurs(pid, 'holdfast'); });
  return {
    target: { command: '/bin/sh', args: ['-c', NOTED, base, HOLDFAST, ...args], cwd: dir, env: environment(dir) },
    said: () => lines(`${base}.log`).join('\n'),
    ended: async () => { for (const pid of pids()) await until(() => isGone(pid), `holdfast ${pid} to end`); },
  };
}

/** A server that holdfast starts itself, over stdio. `server` has the names of its tools if they are others. */
class Local {
  constructor(server, prefix) {
    Object.assign(this, { server, prefix, pay: server.pay ?? 'effect', payAndDie: server.payAndDie ?? 'effect_then_die' });
  }
  effects() {
    return this.server.effects();
  }
  /** The server is killed between two calls, and is back by itself. */
  async killedBefore(call) {
    await this.server.kill();
    return call();
  }
  /** The tool itself dies after its effect. */
  async diesDuring(call) {
    return call();
  }
  async ended() {
    for (const pid of this.server.pids()) await until(() => isGone(pid), `server ${pid} to be gone`);
  }
}

/** A server behind a URL, which somebody else starts and stops. */
class Remote {
  pay = 'pay';
  payAndDie = 'hold';
  constructor(server, prefix, said) {
    Object.assign(this, { server, prefix, said });
  }
  effects() {
    return this.server.effects;
  }
  /** Killed between two calls; it comes back when holdfast has seen that nobody is there, with the call waiting. */
  async killedBefore(call) {
    await this.server.stop();
    const answer = call();
    await until(() => /refused/i.test(this.said()), () => `holdfast to miss the server; it says\n${this.said()}`);
    await this.server.start();
    return answer;
  }
  /** Killed when the tool has taken effect and has not answered. */
  async diesDuring(call, key) {
    const answer = call();
    await until(() => this.server.ran(key) > 0, `the effect ${key}`);
    this.server.release(key); // a second run, which must not be, would not be held
    await this.server.restart();
    return answer;
  }
  /** A new process in its place, which knows no session of the old one. */
  async restartedBefore(call) {
    await this.server.restart();
    return call();
  }
  async ended() {}
}

/** `makeServer`: the local server of a scratch directory. */
export const PATHS = {
  /** client ── stdio ──► holdfast run ── stdio ──► server */
  async run(t, makeServer = (dir) => new Server(dir)) {
    const dir = scratch();
    const server = makeServer(dir);
    const holdfast = program(t, dir, ['run', '--name', 'effects', '--', server.command, ...server.args]);
    return { ...holdfast, dir, local: new Local(server, '') };
  },
  /** client ── HTTP ──► holdfast serve ──► a server over stdio and one behind a URL */
  async serve(t, makeServer = (dir) => new Server(dir)) {
    const dir = scratch();
    const server = makeServer(dir);
    const remote = await httpServer(t, { tools: REMOTE_TOOLS });
    const gateway = await serve(t, { dir, servers: { effects: { command: server.command, args: server.args }, remote: { http: remote } } });
    const said = () => gateway.stderr;
    return {
      target: { url: `${gateway.origin}/mcp` }, said, ended: () => gateway.finish(), dir,
      local: new Local(server, 'effects__'), remote: new Remote(remote, 'remote__', said),
    };
  },
  /** client ── stdio ──► holdfast bridge ── HTTP ──► server */
  async bridge(t) {
    const dir = scratch();
    const remote = await httpServer(t, { tools: REMOTE_TOOLS });
    const holdfast = program(t, dir, ['bridge', remote.url]);
    return { ...holdfast, dir, remote: new Remote(remote, '', holdfast.said) };
  },
};

/** The client has closed: holdfast ends, with all it started, and said nothing that is a bug. */
export async function assertEndsWell({ said, ended, local }) {
  await ended();
  await local?.ended();
  assert.doesNotMatch(said(), SANITIZER);
}
