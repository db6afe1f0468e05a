// The official filesystem server asks its client for roots as soon as it may, and lets nobody out of them. With holdfast
// in between it allows the directories that it allows without: before and after a kill, and when the roots change.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, isAlive, killNow, lines, scratch, stdio, textOf, until } from './harness.mjs';
import { serve } from './http_harness.mjs';
import { Guest } from './sdk_harness.mjs';

const FILESYSTEM = path.join(ROOT, 'test/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
const TOOL = 'list_allowed_directories';

/** A world with directories, and the server's command line; every process of it notes its id. */
class World {
  constructor({ isNamed = true } = {}) {
    this.dir = scratch();
    [this.named, this.first, this.second, this.third] = ['named', 'first', 'second', 'third'].map((name) => {
      const made = path.join(this.dir, name);
      fs.mkdirSync(made);
      return made;
    });
    this.roots = [this.first, this.second];
    this.pids = path.join(this.dir, 'pids');
    const given = isNamed ? [this.named] : [];
    this.command = ['/bin/sh', '-c', 'echo $$ >>"$0"; exec "$@"', this.pids, process.execPath, FILESYSTEM, ...given];
    this.config = { command: this.command[0], args: this.command.slice(1) };
  }
  get offered() {
    return { roots: this.roots.map((root) => ({ uri: pathToFileURL(root).href })) };
  }
  guest(capabilities = { roots: { listChanged: true } }) {
    return new Guest('v1', { capabilities, replies: { 'roots/list': () => this.offered } });
  }
  async kill() {
    const pid = Number(lines(this.pids).at(-1));
    killNow(pid);
    await until(() => !isAlive(pid), `the filesystem server ${pid} to die`);
  }
}

/** How a guest comes to the server of a world, by way; each resolves with the names' prefix. */
const ENDPOINTS = {
  run: async (t, world, guest) => {
    await guest.overStdio(t, world.dir, ['run', '--', ...world.command]);
    return '';
  },
  stdio: async (t, world, guest) => {
    const file = path.join(world.dir, 'config.json');
    fs.writeFileSync(file, JSON.stringify({ mcpServers: { fs: world.config } }));
    await guest.overStdio(t, world.dir, ['stdio', '-c', file]);
    return 'fs__';
  },
  serve: async (t, world, guest) => {
    const gateway = await serve(t, { servers: { fs: world.config } });
    await guest.overHttp(t, `${gateway.origin}/mcp`);
    return 'fs__';
  },
  serve_at_the_endpoint_of_one: async (t, world, guest) => {
    const gateway = await serve(t, { servers: { fs: world.config } });
    await guest.overHttp(t, `${gateway.origin}/mcp/fs`);
    return '';
  },
  serve_with_a_process_for_each: async (t, world, guest) => {
    const gateway = await serve(t, { servers: { fs: { ...world.config, isolation: 'session' } } });
    await guest.overHttp(t, `${gateway.origin}/mcp`);
    return 'fs__';
  },
};

/** The server takes the roots in when it has them, so its answer settles; it must settle on these. */
async function assertAllows(guest, prefix, directories, when) {
  let said;
  const wanted = directories.join('\n');
  await until(async () => {
    said = await guest.text(`${prefix}${TOOL}`);
    return said.replace(/^Allowed directories:\n/, '') === wanted;
  }, () => `the server to allow, ${when},\n${wanted}\nbut it said\n${said}\nand the client was asked ${guest.asked.length} times\n${guest.stderr.slice(-1500)}`);
}

async function exercise(guest, prefix, world, hasKill = true) {
  await assertAllows(guest, prefix, world.roots, 'at first');
  if (hasKill) {
    await world.kill();
    await assertAllows(guest, prefix, world.roots, 'after a kill');
  }
  world.roots = [world.third];
  await guest.client.sendRootsListChanged();
  await assertAllows(guest, prefix, world.roots, 'after the roots changed');
  if (!hasKill) return;
  await world.kill();
  await assertAllows(guest, prefix, world.roots, 'after the roots changed and a kill');
}

test('without_holdfast_the_filesystem_server_allows_the_roots_of_its_client', async (t) => {
  const world = new World();
  const guest = await world.guest().overStdio(t, world.dir, world.command.slice(1), world.command[0]);
  await exercise(guest, '', world, false);
  await guest.leave();
});

for (const [endpoint, enter] of Object.entries(ENDPOINTS)) {
  test(`through_${endpoint}_the_filesystem_server_allows_the_roots_of_its_client_before_and_after_a_kill`, async (t) => {
    const world = new World();
    const guest = world.guest();
    await exercise(guest, await enter(t, world, guest), world);
    await guest.leave();
  });

  test(`through_${endpoint}_a_client_without_roots_leaves_the_filesystem_server_its_own_directories`, async (t) => {
    const world = new World();
    const guest = world.guest({});
    const prefix = await enter(t, world, guest);
    await assertAllows(guest, prefix, [world.named], 'at first');
    await world.kill();
    await assertAllows(guest, prefix, [world.named], 'after a kill');
    assert.deepEqual(guest.asked, []);
    await guest.leave();
  });
}

test('through_run_a_filesystem_server_that_was_given_no_directory_works_with_the_roots_alone', async (t) => {
  const world = new World({ isNamed: false });
  const guest = world.guest();
  await exercise(guest, await ENDPOINTS.run(t, world, guest), world);
  await guest.leave();
});

const ASKED_IN_VAIN = /Failed to request initial roots/; // says the server, of which holdfast keeps every line

test('through_stdio_the_roots_of_a_client_that_is_slower_than_its_server_arrive_all_the_same', async (t) => {
  const world = new World();
  const hf = stdio(t, { servers: { fs: world.config }, dir: world.dir });
  hf.onRequest = ({ method }) => (method === 'roots/list' ? { result: world.offered } : undefined);
  await hf.waitForStderr(ASKED_IN_VAIN);
  await hf.initialize({ capabilities: { roots: { listChanged: true } } });
  const guest = { text: async (name) => textOf(await hf.call(name)), asked: hf.requests, stderr: '' };
  await assertAllows(guest, 'fs__', world.roots, 'when its client has come');
  await hf.finish();
});

test('through_serve_the_roots_of_a_client_that_comes_when_the_server_has_asked_in_vain_arrive_all_the_same', async (t) => {
  const world = new World();
  const gateway = await serve(t, { servers: { fs: world.config } });
  await gateway.waitForStderr(ASKED_IN_VAIN);
  const guest = await world.guest().overHttp(t, `${gateway.origin}/mcp`);
  await assertAllows(guest, 'fs__', world.roots, 'when its client has come');
  await guest.leave();
  await gateway.finish();
});

test('through_serve_the_next_client_brings_its_own_roots_when_the_first_has_gone', async (t) => {
  const world = new World();
  const gateway = await serve(t, { servers: { fs: world.config } });
  const first = await world.guest().overHttp(t, `${gateway.origin}/mcp`);
  await assertAllows(first, 'fs__', world.roots, 'for the first');
  await first.leave();
  world.roots = [world.third];
  const next = await world.guest().overHttp(t, `${gateway.origin}/mcp`);
  await assertAllows(next, 'fs__', world.roots, 'for the next');
  await next.leave();
  await gateway.finish();
});
