// Five attackers at once, and a client beside them with a token and a server of its own. bench/attackers.c is the same with
// more of everything, and measures.
import test from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import path from 'node:path';
import { createHash, randomBytes } from 'node:crypto';
import { PLAIN_HOLDFAST, textOf, until } from './harness.mjs';
import { serve } from './http_harness.mjs';

const RESTLESS = path.join(import.meta.dirname, '../servers/restless.cjs');
const BUFFERED = 16 << 20;
const CALLS = 150;

const token = (name, servers) => {
  const secret = randomBytes(24).toString('base64url');
  return { secret, entry: { name, servers, hash: `sha256:${createHash('sha256').update(secret).digest('hex')}` } };
};

/** Connections that are opened again whenever they are closed, until the attack is over. */
class Attack {
  constructor(gateway) {
    this.gateway = gateway;
    this.sockets = new Set();
    this.opened = 0;
  }
  connect(greet) {
    if (this.isOver) return;
    const socket = net.connect({ host: this.gateway.address, port: this.gateway.port });
    this.sockets.add(socket);
    this.opened++;
    socket.on('error', () => {});
    socket.on('data', () => {});
    socket.on('close', () => {
      this.sockets.delete(socket);
      setImmediate(() => this.connect(greet));
    });
    greet(socket);
  }
  end() {
    this.isOver = true;
    for (const socket of this.sockets) socket.destroy();
  }
}

const sendBody = (gateway) => (socket) => {
  const chunk = Buffer.alloc(64 * 1024, ' ');
  const more = () => { while (socket.writable && socket.write(chunk)); };
  socket.on('drain', more);
  socket.write(`POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nContent-Type: application/json\r\nContent-Length: 60000000\r\n\r\n`);
  more();
};

const BATCHES = 600;
const CALLS_A_BATCH = 100; // no more are taken at once

/** Calls of one token that are never answered, more of them than all may hold together. */
async function hang(gateway, secret, attack) {
  const { session } = await gateway.join('/mcp/hang', { token: secret, version: '2025-03-26' });
  for (let batch = 0; batch < BATCHES; batch++) {
    const calls = Array.from({ length: CALLS_A_BATCH }, (_, i) => ({
      jsonrpc: '2.0', id: batch * CALLS_A_BATCH + i, method: 'tools/call', params: { name: 'hang', arguments: {} },
    }));
    const body = JSON.stringify(calls);
    attack.connect((socket) => socket.write(`POST /mcp/hang HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nAuthorization: Bearer ${secret}\r\n`
      + 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n'
      + `Mcp-Session-Id: ${session}\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
  }
}

async function inFlight(gateway, secret, server) {
  const response = await fetch(`http://127.0.0.1:${gateway.port}/metrics`, { headers: { authorization: `Bearer ${secret}` } });
  return Number((await response.text()).match(new RegExp(`holdfast_in_flight\\{server="${server}"\\} (\\d+)`))?.[1]);
}

/** Until the hanging calls are no longer becoming more. */
async function untilAllHang(gateway, secret) {
  for (let before = -1, now = 0; now < 1000 || now > before + 100;) {
    before = now;
    for (let i = 0; i < 20; i++) now = await inFlight(gateway, secret, 'hang');
  }
}

/** Lists as fast as it is answered; returns when the attack is over. */
async function listForEver(gateway, endpoint, secret, attack, counts) {
  const client = await gateway.join(endpoint, { token: secret });
  while (!attack.isOver) {
    const { result } = await client.request('tools/list', {});
    counts.lists += result ? 1 : 0;
  }
}

test('a_client_is_served_as_ever_while_five_others_attack_and_memory_stays_within_its_bound', async (t) => {
  const mine = token('mine', ['mine']);
  const theirs = token('theirs', ['hang', 'collide', 'change']);
  const node = (...args) => ({ command: process.execPath, args: [RESTLESS, ...args] });
  const gateway = await serve(t, {
    program: PLAIN_HOLDFAST,
    servers: { mine: { flags: [] }, hang: node('hang'), collide: node('collide', 'collide__'), change: node('change') },
    holdfast: { maxBufferedBytes: BUFFERED, tokens: [mine.entry, theirs.entry] },
  });
  const client = await gateway.join('/mcp/mine', { token: mine.secret });
  textOf(await client.call('effect', { key: 'before' }));

  const attack = new Attack(gateway);
  t.after(() => attack.end());
  const counts = { lists: 0 };
  for (let i = 0; i < 10; i++) attack.connect(sendBody(gateway));
  for (let i = 0; i < 500; i++) attack.connect(() => {});
  await hang(gateway, theirs.secret, attack);
  const listers = [listForEver(gateway, '/mcp/collide', theirs.secret, attack, counts), listForEver(gateway, '/mcp/change', theirs.secret, attack, counts)];
  await untilAllHang(gateway, mine.secret);
  await until(() => counts.lists > 10 && attack.opened > 600, () => `the attack to be on its way: ${JSON.stringify(counts)}, ${attack.opened} connections`);

  let rss = 0;
  for (let i = 0; i < CALLS; i++) {
    assert.match(textOf(await client.call('effect', { key: `k${i}` })), /^\d+$/);
    rss = Math.max(rss, gateway.rssKb());
  }
  const effects = gateway.servers.mine.effects();
  assert.deepEqual(effects, ['before', ...Array.from({ length: CALLS }, (_, i) => `k${i}`)]);
  const hanging = await inFlight(gateway, mine.secret, 'hang');
  attack.end();
  await Promise.all(listers);
  t.diagnostic(`table: ${CALLS} calls beside ${hanging} that hang, ${attack.opened} connections and ${counts.lists} lists: RSS at most ${rss} kB`);
  assert.ok(rss * 1024 < BUFFERED + (32 << 20), `RSS ${rss} kB`);
  await gateway.finish();
});
