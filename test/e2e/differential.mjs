// differential.mjs - what the differential tests share: repeatable chance, and our own reader as a
// program that takes a text in hex per line and prints its verdict per line.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const build = path.resolve(root, process.env.HOLDFAST_BUILD ?? 'build');

// Printed with every difference.
export const seed = Number(process.env.SEED ?? 1);

let state = seed;
export function random(n) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
}
export const pick = (list) => list[random(list.length)];

export function verdicts(name, texts) {
  const program = path.join(build, 'test', name);
  const input = texts.map((bytes) => bytes.toString('hex') + '\n').join('');
  const run = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 2 ** 28 });
  assert.equal(run.status, 0, `${program}: ${run.error ?? run.stderr}`);
  const lines = run.stdout.trimEnd().split('\n');
  assert.equal(lines.length, texts.length);
  return lines;
}
