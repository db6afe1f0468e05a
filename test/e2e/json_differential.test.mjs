// json_differential.test.mjs - our verdict on thousands of texts beside that of JSON.parse.
//
// JSON.parse sees characters, we see bytes: bytes that are no UTF-8 are ours alone to refuse. We
// also refuse what is nested deeper than 512. Everything else must agree.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { pick, random, seed, verdicts } from './differential.mjs';

const numbers = ['0', '-0', '1', '-1.5', '1e5', '1E+5', '0.1e-3', '12345678901234567890.0',
  '1e400'];
const pieces = ['a', 'id', ' ', '\\n', '\\"', '\\\\', '\\/', '\\u0041', '\\ud83d\\ude00', '\\ud800',
  'ä', '€', '😀', '\u007f', '\u2028', '0123456789abcdef', '{', ']', ','];
const spaces = ['', '', '', '', ' ', '\n', '\r\n', '\t'];
const noise = ['"', '\\', '{', '}', '[', ']', ',', ':', '0', '1', '-', '+', '.', 'e', 'E', 't',
  'n', 'u', ' ', '\n', '\0', '\u001f', '\u007f', 'é', '\ufeff', '\u00a0', '\\u', '\\x', 'true',
  '/', "'"];
const bad_bytes = [0x80, 0xbf, 0xc0, 0xc1, 0xc3, 0xe0, 0xed, 0xf0, 0xf4, 0xf5, 0xff, 0xa0, 0x9f,
  0x90];

const space = () => pick(spaces);
const string = () => `"${Array.from({ length: random(5) }, () => pick(pieces)).join('')}"`;
function value(depth) {
  const kind = random(depth > 4 ? 5 : 9);
  if (kind < 2) return pick(numbers);
  if (kind < 4) return string();
  if (kind < 5) return pick(['true', 'false', 'null']);
  const items = Array.from({ length: random(4) }, () => space() + value(depth + 1) + space());
  if (kind < 7) return `[${items.join(',') || space()}]`;
  return `{${items.map((item) => space() + string() + space() + ':' + item).join(',') || space()}}`;
}

function mutate(bytes) {
  const at = random(bytes.length + 1);
  const before = bytes.subarray(0, at);
  switch (random(5)) {
    case 0: return Buffer.concat([before, bytes.subarray(at + 1)]);
    case 1: return Buffer.concat([before, Buffer.from(pick(noise)), bytes.subarray(at)]);
    case 2: return Buffer.concat([before, Buffer.from(pick(noise)), bytes.subarray(at + 1)]);
    case 3: return Buffer.concat([before, Buffer.from([pick(bad_bytes)]), bytes.subarray(at)]);
    default: return before;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
function expected(bytes) {
  try {
    JSON.parse(decoder.decode(bytes));
    return 'accept';
  } catch {
    return 'reject';
  }
}

function compare(texts) {
  const counts = { accept: 0, reject: 0 };
  verdicts('json_verdict', texts).forEach((verdict, i) => {
    const want = expected(texts[i]);
    const shown = JSON.stringify(texts[i].toString('latin1'));
    assert.equal(verdict, want, `seed ${seed}, text ${i}: ${shown}`);
    counts[want]++;
  });
  return counts;
}

test('generated texts are accepted as JSON.parse accepts them', () => {
  const texts = Array.from({ length: 3000 }, () => Buffer.from(space() + value(0) + space()));
  const counts = compare(texts);
  assert.equal(counts.accept, texts.length);
});

test('mutated texts get the verdict of JSON.parse, both ways', () => {
  const texts = Array.from({ length: 12000 }, () => {
    let bytes = Buffer.from(value(0));
    for (let n = 1 + random(2); n > 0; n--) bytes = mutate(bytes);
    return bytes;
  });
  const counts = compare(texts);
  assert.ok(counts.accept > 1000 && counts.reject > 1000, JSON.stringify(counts));
});

test('every text of three bytes of a nasty alphabet gets the verdict of JSON.parse', () => {
  const alphabet = Buffer.from('"\\{}[],:01-.eu tn\n\x00\x1f\x7fé', 'utf8');
  const texts = [Buffer.alloc(0)];
  for (const a of alphabet) {
    texts.push(Buffer.from([a]));
    for (const b of alphabet) {
      texts.push(Buffer.from([a, b]));
      for (const c of alphabet) texts.push(Buffer.from([a, b, c]));
    }
  }
  compare(texts);
});

test('bytes in a string are UTF-8 exactly when a strict decoder says so', () => {
  const texts = [];
  const tails = [0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0];
  for (let a = 0; a < 256; a++) {
    for (let b = 0; b < 256; b++) texts.push(Buffer.from([0x22, a, b, 0x22]));
    if (a < 0xc0) continue;
    for (const b of tails) for (const c of tails) {
      texts.push(Buffer.from([0x22, a, b, c, 0x22]));
      for (const d of tails) texts.push(Buffer.from([0x22, a, b, c, d, 0x22]));
    }
  }
  compare(texts);
});

test('depth is the one limit of ours that JSON.parse does not have', () => {
  const nested = (depth) => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
  assert.deepEqual(verdicts('json_verdict', [nested(512), nested(513)]), ['accept', 'reject']);
  assert.equal(expected(nested(513)), 'accept');
});
