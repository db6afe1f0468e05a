// http_differential.test.mjs - what we read from thousands of byte streams beside what Node's own
// parser (llhttp) reads.
//
// One way only: whatever we accept, Node must accept too and read the same method, target, headers
// and body, request after request, so that nothing can be smuggled past one of the two. We refuse
// more than Node does. Node knows a fixed list of methods; any token is one to us, so a stream that
// Node refuses for its method is left out.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { pick, random, seed, verdicts } from './differential.mjs';

const some = (most, make) => Array.from({ length: random(most + 1) }, make);

// ---- the two readers ----

// Node's server on a stream that is no socket: all of it comes at once, then the end.
function theirs(bytes) {
  return new Promise((resolve) => {
    const requests = [];
    let reading = 0, error = null, ended = false;
    const settle = () => {
      if (ended && !reading) resolve({ requests, error });
    };
    const server = createServer({ joinDuplicateHeaders: false }, (request, response) => {
      const chunks = [];
      const entry = { method: request.method, target: request.url, version: request.httpVersion,
        headers: request.rawHeaders, body: null };
      requests.push(entry);
      reading++;
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => { entry.body = Buffer.concat(chunks).toString('latin1'); });
      request.on('error', () => {});
      request.on('close', () => { reading--; setImmediate(settle); });
      request.on('end', () => response.end());
    });
    server.on('clientError', (cause, socket) => {
      error = cause.code ?? String(cause);
      setImmediate(() => socket.destroy()); // what came before it is still being told
    });
    const stream = new Duplex({ read() {}, write(chunk, encoding, done) { done(); } });
    stream.on('error', () => {});
    stream.on('close', () => { ended = true; setImmediate(settle); });
    server.emit('connection', stream);
    stream.push(bytes);
    stream.push(null);
  });
}

async function compare(streams) {
  const counts = { accepted: 0, refused: 0, unknown: 0 };
  const ours = verdicts('http_verdict', streams).map((line) => JSON.parse(line));
  for (let i = 0; i < streams.length; i++) {
    const accepted = ours[i].filter((entry) => typeof entry === 'object');
    counts.refused += ours[i].length - accepted.length;
    if (!accepted.length) continue;
    const node = await theirs(streams[i]);
    for (let n = 0; n < accepted.length; n++) {
      const { keepAlive, ...want } = accepted[n];
      const shown = `seed ${seed}, stream ${i}, request ${n}: ` +
        JSON.stringify(streams[i].toString('latin1')) + ` Node: ${JSON.stringify(node)}`;
      if (!node.requests[n] && node.error === 'HPE_INVALID_METHOD') {
        counts.unknown++;
        break;
      }
      assert.deepEqual(node.requests[n], want, shown);
      counts.accepted++;
    }
  }
  return counts;
}

// ---- streams ----

const methods = ['GET', 'POST', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PUT', 'PATCH'];
const targets = ['/', '/mcp', '/mcp/a?b=c', '/%20', '/a//b/../c', '/?', '/~!$&\'()*+,;=:@',
  '/[]{}|"<>^`\\'];
const names = ['X', 'Accept', 'x-a!#$%&\'*+-.^_`|~', 'Connection', 'Upgrade', 'Cookie', 'TE',
  'Trailer', 'Mcp-Session-Id', 'Content-Type', 'Keep-Alive'];
const values = ['', 'a', 'a b', ' \t a\t', 'ä'.repeat(3), '"quoted, text"', 'keep-alive', 'close',
  'upgrade', 'websocket', 'x, Keep-Alive', ':', 'a:b', '\xff', '; =', 'chunked'];
const noise = ['\r', '\n', '\r\n', ' ', '\t', '\0', ':', ',', ';', '0', '5', 'f', '+', '-', 'x',
  'HTTP/1.1', 'HTTP/1.0', '\x7f', '\xa0', '\x0b', '\x0c', '"', '/', '\r\n ', '\r\n\r\n',
  'Content-Length: 3\r\n', 'Transfer-Encoding: chunked\r\n', 'Content-Length: 0\r\n', 'Host: b\r\n',
  'Transfer-Encoding: identity\r\n', ' chunked', 'chunked', '0\r\n\r\n'];
const trailers = ['x', 'x', 'x', 'Expires', 'Host', 'Connection', 'Upgrade', 'Content-Length',
  'Transfer-Encoding'];
const bodies = ['', '{}', '{"jsonrpc":"2.0","id":1,"method":"ping"}', '\r\n\r\n', 'GET / HTTP/1.1\r\n',
  '\0\xff', '0\r\n\r\n'];

function chunked(body) {
  let text = '';
  for (let at = 0; at < body.length;) {
    const n = 1 + random(body.length - at);
    const size = n.toString(16).padStart(1 + random(4), '0');
    text += (random(2) ? size : size.toUpperCase()) + '\r\n' + body.slice(at, at + n) + '\r\n';
    at += n;
  }
  const tail = random(3) ? '' : some(2, () => `${pick(trailers)}: ${pick(values)}\r\n`).join('');
  return text + pick(['0', '000']) + '\r\n' + tail + '\r\n';
}

function request() {
  const version = random(6) ? '1.1' : '1.0';
  const method = pick(methods), body = pick(bodies), kind = random(3);
  const lines = some(4, () => `${pick(names)}:${pick(['', ' ', '\t'])}${pick(values)}`);
  lines.push(`${pick(['Host', 'host', 'HOST'])}: ${pick(['a', 'localhost:7332', '[::1]:1'])}`);
  const is_chunked = kind === 0 && version === '1.1';
  if (is_chunked) lines.push(`Transfer-Encoding: ${pick(['chunked', 'Chunked'])}`);
  else if (kind === 1) lines.push(`Content-Length: ${pick(['', '0'])}${Buffer.byteLength(body, 'latin1')}`);
  const head = `${method} ${pick(targets)} HTTP/${version}\r\n${lines.join('\r\n')}\r\n\r\n`;
  return head + (is_chunked ? chunked(body) : kind === 1 ? body : '');
}

function mutate(text) {
  const at = random(text.length + 1);
  switch (random(4)) {
    case 0: return text.slice(0, at) + text.slice(at + 1);
    case 1: return text.slice(0, at) + pick(noise) + text.slice(at);
    case 2: return text.slice(0, at) + pick(noise) + text.slice(at + 1);
    default: return text.slice(0, at) + String.fromCharCode(random(256)) + text.slice(at + 1);
  }
}

const bytes_of = (text) => Buffer.from(text, 'latin1');

test('generated requests, up to three in a row, are read as Node reads them', async () => {
  const streams = Array.from({ length: 1500 }, () => bytes_of(request() + some(2, request).join('')));
  const counts = await compare(streams);
  assert.ok(counts.accepted > 1500, JSON.stringify(counts));
});

test('of mutated requests whatever we accept Node reads the same way', async () => {
  const streams = Array.from({ length: 8000 }, () => {
    let text = request() + some(1, request).join('');
    for (let n = 1 + random(2); n > 0; n--) text = mutate(text);
    return bytes_of(text);
  });
  const counts = await compare(streams);
  assert.ok(counts.accepted > 1500 && counts.refused > 1500, JSON.stringify(counts));
});

test('every byte in every place of a small request: what we accept Node reads the same way', async () => {
  const base = 'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: v\r\n\r\n';
  const nasty = [...'\0\t\n\v\f\r !"#,/:;=?@[\\]^_{|}~\x7f\x80\xffaZ09']
    .map((character) => character.charCodeAt(0) & 0xff);
  const streams = [];
  for (let at = 0; at <= base.length; at++) {
    for (const byte of nasty) {
      const character = String.fromCharCode(byte);
      streams.push(bytes_of(base.slice(0, at) + character + base.slice(at)));
      if (at < base.length) streams.push(bytes_of(base.slice(0, at) + character + base.slice(at + 1)));
    }
  }
  const counts = await compare(streams);
  assert.ok(counts.accepted > 300 && counts.refused > 2000, JSON.stringify(counts));
});
