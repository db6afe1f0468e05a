// paths.mjs - the ways from a client to a server through holdfast, each built anew for every row.
//
// A path has `target`, what the client connects to; `backend`, the server at its far end, whose own log says what took
// effect; and `prefix`, what stands before the names of its tools. Every holdfast that a library starts, also a second
// one, notes its process id and its words in files: a library keeps both to itself.
import assert from 'node:assert/strict';
import path from 'node:path';
import { HOLDFAST, SANITIZER, Server, environment, isGone, killNow, lines, scratch, until } from '../e2e/harness.mjs';
import { httpServer, serve } from '../e2e/http_harness.mjs';

// A tool that promises structured content is told the truth in plain text all the same.
const PROMISES = { type: 'object', properties: { paid: { type: 'string' } }, required: ['paid'] };
const REMOTE_TOOLS = ['pay', { name: 'hold', inputSchema: { type: 'object' }, outputSchema: PROMISES }];
const NOTED = 'echo $$ >>"$0.pids"; exec "$@" 2>>"$0.log"';

/** A holdfast for a library to start; `said` is its log, `ended` waits until it is gone. */
function program(t, dir, args) {
  const base = path.join(dir, 'holdfast');
  const pids = () => lines(`${base}.pids`).map(Number);
  t.after(() => { for (const pid of pids()) if (!isGone(pid)) killNow(pid); });
  return {
    target: { command: '/bin/sh', args: ['-c', NOTED, base, HOLDFAST, ...args], cwd: dir, env: environment(dir) },
    said: () => lines(`${base}.log`).join('\n'),
    ended: async () => { for (const pid of pids()) await until(() => isGone(pid), `holdfast ${pid} to end`); },
  };
}

/** A server that holdfast starts itself, over stdio. */
class Local {
  pay = 'effect';
  payAndDie = 'effect_then_die';
  constructor(server) {
    this.server = server;
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
  constructor(server, said) {
    Object.assign(this, { server, said });
  }
  effects() {
    return this.server.effects;
  }
  /** Killed between two calls; it comes back when holdfast has seen that nobody is there, with the call waiting. */
  async killedBefore(call) {
    await this.server.stop();
    const answer = call();
    await until(() => /ECONNREFUSED|refused/i.test(this.said()), () => `holdfast to miss the server; it says\n${this.said()}`);
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

export const PATHS = {
  /** client ── stdio ──► holdfast run ── stdio ──► server */
  async run(t) {
    const dir = scratch();
    const server = new Server(dir);
    const holdfast = program(t, dir, ['run', '--name', 'effects', '--', server.command, ...server.args]);
    return { ...holdfast, prefix: '', backend: new Local(server) };
  },
  /** client ── HTTP ──► holdfast serve ──► a server over stdio and one behind a URL; `wantsRemote`: which of them is meant */
  async serve(t, wantsRemote) {
    const remote = await httpServer(t, { tools: REMOTE_TOOLS });
    const gateway = await serve(t, { servers: { effects: { flags: [] }, remote: { http: remote } } });
    const said = () => gateway.stderr;
    return {
      target: { url: `${gateway.origin}/mcp` }, said, ended: () => gateway.finish(),
      prefix: wantsRemote ? 'remote__' : 'effects__',
      backend: wantsRemote ? new Remote(remote, said) : new Local(gateway.servers.effects),
    };
  },
  /** client ── stdio ──► holdfast bridge ── HTTP ──► server */
  async bridge(t) {
    const remote = await httpServer(t, { tools: REMOTE_TOOLS });
    const holdfast = program(t, scratch(), ['bridge', remote.url]);
    return { ...holdfast, prefix: '', backend: new Remote(remote, holdfast.said) };
  },
};

/** The client has closed: holdfast ends, with all it started, and said nothing that is a bug. */
export async function assertEndsWell({ said, ended, backend }) {
  await ended();
  await backend.ended();
  assert.doesNotMatch(said(), SANITIZER);
}
