// Malformed and smuggling requests, byte by byte: each is refused with the right status and its connection is closed.
import test from 'node:test';
import assert from 'node:assert/strict';
import { textOf, until } from './harness.mjs';
import { httpServer, rawConnection, serve } from './http_harness.mjs';

const LIMIT = 300000; // bytes of a message
const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"key":"smuggled"}}}';

/** [what it is, expected status, the bytes]. `H` is the Host line, `S` the session's header, `P` a good POST line. */
const table = ({ H, S }) => {
  const P = 'POST /mcp/http HTTP/1.1\r\n';
  const T = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n';
  const post = (extra, body) => `${P}${H}${S}${T}${extra}\r\n${body}`;
  const get = (line, extra = '') => `${line}\r\n${H}${extra}\r\n`;
  const length = `Content-Length: ${CALL.length}\r\n`;
  const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
  return [
    // where a line or a head ends
    ['lines that end in LF alone', 400, post(length, CALL).replaceAll('\r\n', '\n')],
    ['one line that ends in LF alone', 400, `${P}${H.replace('\r\n', '\n')}${S}${T}${length}\r\n${CALL}`],
    ['a CR inside a header', 400, post(`X-A: a\rb\r\n${length}`, CALL)],
    ['a CR before the CRLF', 400, post(`X-A: a\r\r\n${length}`, CALL)],
    ['a NUL in a header value', 400, post(`X-A: a\0b\r\n${length}`, CALL)],
    ['a NUL in a header name', 400, post(`X\0A: a\r\n${length}`, CALL)],
    ['a folded header', 400, post(`X-A: a\r\n b\r\n${length}`, CALL)],
    ['a header line that begins with a space', 400, `${P} X-A: a\r\n${H}${S}${T}${length}\r\n${CALL}`],
    ['a space before the colon', 400, post(`X-A : a\r\n${length}`, CALL)],
    ['a header without a colon', 400, post(`X-A\r\n${length}`, CALL)],
    ['a header without a name', 400, post(`: a\r\n${length}`, CALL)],
    ['a header name that is no token', 400, post(`X(A): a\r\n${length}`, CALL)],
    ['a DEL in a header value', 400, post(`X-A: a\x7fb\r\n${length}`, CALL)],
    // the request line
    ['no version', 400, get('GET /healthz')],
    ['two spaces in the request line', 400, get('GET  /healthz HTTP/1.1')],
    ['a space at the end of the request line', 400, get('GET /healthz HTTP/1.1 ')],
    ['a tab in the request line', 400, get('GET\t/healthz HTTP/1.1')],
    ['a space in the target', 400, get('GET /health z HTTP/1.1')],
    ['a control character in the target', 400, get('GET /healthz\x01 HTTP/1.1')],
    ['a byte over 0x7f in the target', 400, get('GET /healthz\xe9 HTTP/1.1')],
    ['a fragment in the target', 400, get('GET /healthz#x HTTP/1.1')],
    ['a target without a slash', 400, get('GET healthz HTTP/1.1')],
    ['an absolute target', 400, get('GET http://127.0.0.1/healthz HTTP/1.1')],
    ['a method that is no token', 400, get('G(T /healthz HTTP/1.1')],
    ['a lower-case version', 400, get('GET /healthz http/1.1')],
    ['a version with more after it', 400, get('GET /healthz HTTP/1.1x')],
    ['version 2', 505, get('GET /healthz HTTP/2.0')],
    ['version 0.9 with a head', 505, get('GET /healthz HTTP/0.9')],
    ['the preface of HTTP/2', 505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS on a plain port', 400, '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n'],
    // whose host it is
    ['no Host', 400, `${P}${S}${T}${length}\r\n${CALL}`],
    ['two Hosts', 400, `${P}${H}${H}${S}${T}${length}\r\n${CALL}`],
    // how long the body is
    ['two different lengths', 400, post(`Content-Length: 5\r\n${length}`, CALL)],
    ['the same length twice', 400, post(`${length}${length}`, CALL)],
    ['a list of lengths', 400, post(`Content-Length: ${CALL.length}, ${CALL.length}\r\n`, CALL)],
    ['a length with a plus', 400, post(`Content-Length: +${CALL.length}\r\n`, CALL)],
    ['a negative length', 400, post('Content-Length: -1\r\n', CALL)],
    ['a hexadecimal length', 400, post('Content-Length: 0x65\r\n', CALL)],
    ['a length with letters after it', 400, post(`Content-Length: ${CALL.length}abc\r\n`, CALL)],
    ['a length with a space in it', 400, post('Content-Length: 1 01\r\n', CALL)],
    ['an empty length', 400, post('Content-Length:\r\n', CALL)],
    ['a length that overflows', 413, post('Content-Length: 99999999999999999999999\r\n', CALL)],
    ['a length over the limit', 413, post('Content-Length: 999999999999\r\n', '')],
    ['a length and chunks', 400, post(`${length}Transfer-Encoding: chunked\r\n`, `0\r\n\r\n${CALL}`)],
    ['chunks and a length', 400, post(`Transfer-Encoding: chunked\r\n${length}`, `0\r\n\r\n${CALL}`)],
    ['chunked twice in one header', 501, post('Transfer-Encoding: chunked, chunked\r\n', `${chunk(CALL)}0\r\n\r\n`)],
    ['chunked in two headers', 400, post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', `${chunk(CALL)}0\r\n\r\n`)],
    ['another coding before chunked', 501, post('Transfer-Encoding: gzip, chunked\r\n', `${chunk(CALL)}0\r\n\r\n`)],
    ['identity', 501, post('Transfer-Encoding: identity\r\n', CALL)],
    ['a coding that only looks like chunked', 501, post('Transfer-Encoding: xchunked\r\n', `${chunk(CALL)}0\r\n\r\n`)],
    ['chunked with a vertical tab before it', 400, post('Transfer-Encoding: \x0bchunked\r\n', `${chunk(CALL)}0\r\n\r\n`)],
    ['chunked with a quote', 501, post('Transfer-Encoding: "chunked"\r\n', `${chunk(CALL)}0\r\n\r\n`)],
    ['chunks in HTTP/1.0', 400, post('Transfer-Encoding: chunked\r\n', `${chunk(CALL)}0\r\n\r\n`).replace('HTTP/1.1', 'HTTP/1.0')],
    // chunks
    ['a chunk size with 0x', 400, post('Transfer-Encoding: chunked\r\n', `0x${chunk(CALL)}0\r\n\r\n`)],
    ['a negative chunk size', 400, post('Transfer-Encoding: chunked\r\n', `-1\r\n${CALL}\r\n0\r\n\r\n`)],
    ['a chunk size that overflows', 400, post('Transfer-Encoding: chunked\r\n', `fffffffffffffffff\r\n${CALL}`)],
    ['a chunk over the limit', 413, post('Transfer-Encoding: chunked\r\n', chunk('x'.repeat(LIMIT + 1)))],
    ['a space after the chunk size', 400, post('Transfer-Encoding: chunked\r\n', `${CALL.length.toString(16)} \r\n${CALL}\r\n0\r\n\r\n`)],
    ['a chunk line that ends in LF alone', 400, post('Transfer-Encoding: chunked\r\n', `${CALL.length.toString(16)}\n${CALL}\r\n0\r\n\r\n`)],
    ['a chunk that is longer than it says', 400, post('Transfer-Encoding: chunked\r\n', `5\r\n${CALL}\r\n0\r\n\r\n`)],
    ['an empty chunk line', 400, post('Transfer-Encoding: chunked\r\n', `\r\n${CALL}\r\n0\r\n\r\n`)],
    ['a chunk extension', 400, post('Transfer-Encoding: chunked\r\n', `${CALL.length.toString(16)};a=b\r\n${CALL}\r\n0\r\n\r\n`)],
    ['a length in the trailer', 400, post('Transfer-Encoding: chunked\r\n', `${chunk(CALL)}0\r\nContent-Length: 5\r\n\r\n`)],
    ['a trailer without an end', 400, post('Transfer-Encoding: chunked\r\n', `${chunk(CALL)}0\r\nX-A: ${'x'.repeat(100000)}`)],
    // too much
    ['more headers than anybody needs', 431, post(`${'X-A: a\r\n'.repeat(200)}${length}`, CALL)],
    ['a head that does not end', 431, post(`X-A: ${'a'.repeat(200000)}`, '')],
    ['a target that does not end', 431, `GET /${'a'.repeat(200000)}`],
    // what only other servers do
    ['an expectation that nobody can meet', 417, post(`Expect: the-unexpected\r\n${length}`, CALL)],
    ['a tunnel', 400, get('CONNECT 127.0.0.1:80 HTTP/1.1')],
  ];
};

test('each_malformed_or_smuggling_request_is_refused_with_its_status_and_the_connection_closed', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } }, holdfast: { maxMessageBytes: LIMIT } });
  const client = await gateway.join('/mcp/http');
  assert.ok((await client.toolNames()).includes('pay'));
  const rows = table({ H: `Host: 127.0.0.1:${gateway.port}\r\n`, S: `Mcp-Session-Id: ${client.session}\r\nMCP-Protocol-Version: 2025-11-25\r\n` });
  assert.ok(rows.length >= 40, `${rows.length} rows`);
  const misses = [];
  for (const [what, status, bytes] of rows) {
    const raw = rawConnection(gateway);
    raw.socket.write(Buffer.from(bytes, 'latin1'));
    // A second, good request behind it must never be looked at.
    raw.socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\n\r\n`);
    await until(() => raw.isClosed || raw.isEnded, `the connection of "${what}" to be closed; it said: ${raw.text.slice(0, 300)}`);
    const statuses = [...raw.text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map((hit) => Number(hit[1]));
    if (statuses.length !== 1 || statuses[0] !== status) misses.push(`${what}: expected ${status}, got ${statuses.join(' ') || `nothing (${raw.error ?? 'closed'})`}`);
    raw.socket.destroy();
  }
  assert.deepEqual(misses, []);
  assert.deepEqual(server.effects, [], 'nothing was smuggled');
  assert.equal(textOf(await client.call('pay', { key: 'honest' })), 'paid honest');
  await gateway.finish();
});

test('a_body_is_never_read_as_the_next_request', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const client = await gateway.join('/mcp/http');
  const head = (verb, extra) => `${verb} HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nMcp-Session-Id: ${client.session}\r\n`
    + `Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${extra}\r\n`;
  const inner = `${head('POST /mcp/http', `Content-Length: ${CALL.length}\r\n`)}${CALL}`;
  for (const outer of [`GET /healthz`, 'POST /mcp/http', 'DELETE /nowhere']) {
    const raw = rawConnection(gateway);
    raw.socket.write(`${head(outer, `Content-Length: ${inner.length}\r\nConnection: close\r\n`)}${inner}`);
    await until(() => raw.isClosed || raw.isEnded, `the end of ${outer}`);
    assert.equal([...raw.text.matchAll(/^HTTP\/1\.1 \d+/gm)].length, 1, `${outer}: ${raw.text}`);
    raw.socket.destroy();
  }
  assert.deepEqual(server.effects, []);
  await gateway.finish();
});

test('pipelined_requests_are_answered_in_their_order', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const client = await gateway.join('/mcp/http');
  const raw = rawConnection(gateway);
  const calls = Array.from({ length: 20 }, (_, i) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: i, method: 'tools/call', params: { name: 'pay', arguments: { key: `p${i}` } } });
    return `POST /mcp/http HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nMcp-Session-Id: ${client.session}\r\nContent-Type: application/json\r\n`
      + `Accept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  });
  raw.socket.write(calls.join(''));
  const ids = () => [...raw.text.matchAll(/"id":(\d+)/g)].map((hit) => Number(hit[1]));
  await until(() => ids().length === 20, () => `twenty answers: ${raw.text.slice(-500)}`);
  assert.deepEqual(ids(), Array.from({ length: 20 }, (_, i) => i));
  assert.equal(new Set(server.effects).size, 20);
  raw.socket.destroy();
  await gateway.finish();
});

test('a_request_that_trickles_in_byte_by_byte_is_read_like_any_other', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } } });
  const client = await gateway.join('/mcp/http');
  const raw = rawConnection(gateway);
  raw.socket.setNoDelay(true);
  const body = CALL.replace('smuggled', 'slow');
  const bytes = `POST /mcp/http HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nMcp-Session-Id: ${client.session}\r\nContent-Type: application/json\r\n`
    + `Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\nX-Trailer: t\r\n\r\n`;
  for (const byte of bytes) await new Promise((done) => raw.socket.write(byte, done));
  await until(() => /paid slow/.test(raw.text), () => `an answer: ${raw.text}`);
  assert.equal(server.ran('slow'), 1);
  raw.socket.destroy();
  await gateway.finish();
});

test('a_body_over_the_limit_is_refused_before_it_is_read', async (t) => {
  const server = await httpServer(t);
  const gateway = await serve(t, { servers: { http: { http: server } }, holdfast: { maxMessageBytes: 10000 } });
  const client = await gateway.join('/mcp/http');
  const call = client.call('echo', { text: 'x'.repeat(20000) });
  const answer = await call.catch(() => undefined);
  await call.trip.ended;
  assert.ok(call.trip.status === 413 || answer?.error?.code === -31006, `${call.trip.status} ${call.trip.text}`);
  assert.equal(server.count('tools/call'), 0);
  textOf(await client.call('pay', { key: 'small' }));
  await gateway.finish();
});
