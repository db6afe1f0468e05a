// run.mjs - the official MCP conformance suite against holdfast, from both sides. Prints a table and TAP.
//
//   server mode:  suite ── HTTP ──► holdfast serve ──► a fixture on the official SDK, over stdio and over HTTP,
//                 and two half fixtures that only the aggregate makes whole
//   client mode:  driver.mjs ──► holdfast bridge ── HTTP ──► the suite's own mock servers
//
// A scenario counts if all its checks succeeded: a warning is a miss here. The suites run one after the other, because
// several of their checks have windows of half a second.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const BUILD = path.resolve(process.env.HOLDFAST_BUILD ?? path.join(HERE, '../../build'));
const HOLDFAST = path.join(BUILD, process.env.HOLDFAST_SAN === '0' ? 'holdfast' : 'san/holdfast');
const REVISION = '2025-11-25';
const SUITE = path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'));
const OUT = path.join(BUILD, 'conformance');
const LIMIT_MS = 120_000;
const fixture = path.join(HERE, 'fixtures/legacy.mjs');
const env = { ...process.env, HOLDFAST_STATE_DIR: path.join(OUT, 'state') };

fs.rmSync(OUT, { recursive: true, force: true });
fs.mkdirSync(OUT, { recursive: true });
const children = [];
process.on('exit', () => { for (const child of children) child.kill('SIGKILL'); });

/** Starts a program and waits for what it says about itself. */
function start(name, command, args, pattern, more = {}) {
  const log = path.join(OUT, `${name}.log`);
  const child = spawn(command, args, { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  return new Promise((done, fail) => {
    let said = '';
    const take = (chunk) => {
      fs.appendFileSync(log, chunk);
      said += chunk;
      const hit = said.match(pattern);
      if (hit) done({ child, hit });
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('close', (code) => fail(new Error(`${name} ended with ${code}:\n${said.slice(-2000)}`)));
  });
}

async function gateway(name, mcpServers) {
  const file = path.join(OUT, `${name}.json`);
  fs.writeFileSync(file, JSON.stringify({ mcpServers }));
  const { child, hit } = await start(name, HOLDFAST, ['serve', '-c', file, '--listen', '127.0.0.1:0'], /listening on (http:\S+)/);
  return { child, url: hit[1] };
}

function stop(child) {
  return new Promise((done) => {
    child.on('close', done);
    child.kill('SIGTERM');
  });
}

/** The suite's program to its end; its words go to a file. */
function suite(name, args, more = {}) {
  const log = fs.openSync(path.join(OUT, `${name}.log`), 'a');
  const child = spawn(process.execPath, [path.join(SUITE, 'dist/index.js'), ...args], { env: { ...env, ...more }, stdio: ['ignore', log, log] });
  children.push(child);
  const late = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  return new Promise((done) => child.on('close', (code) => { clearTimeout(late); done(code); }));
}

const scored = parse(fs.readFileSync(path.join(SUITE, 'requirements', `${REVISION}.yaml`), 'utf8'));

/** The checks of one scenario, from the file that the suite wrote. */
function verdict(dir, scenario) {
  const named = new RegExp(`^(server-)?${scenario}-\\d{4}-\\d\\d-\\d\\dT`);
  const folder = fs.existsSync(dir) && fs.readdirSync(dir).find((entry) => named.test(entry));
  if (!folder) return 'no result';
  const checks = JSON.parse(fs.readFileSync(path.join(dir, folder, 'checks.json'), 'utf8'));
  const bad = checks.filter((check) => check.status === 'FAILURE' || check.status === 'WARNING');
  if (bad.length > 0) return bad.map((check) => `${check.status === 'WARNING' ? 'warns' : 'fails'} ${check.id}`).join(', ');
  return checks.some((check) => check.status === 'SUCCESS') ? 'ok' : 'nothing checked';
}

async function serverSuite(name, url) {
  const dir = path.join(OUT, name);
  await suite(name, ['server', '--url', url, '--requirements', REVISION, '--timeout', '15000', '-o', dir]);
  return new Map(scored.server.map((scenario) => [scenario, verdict(dir, scenario)]));
}

async function clientSuite(name, scenarios) {
  const results = new Map();
  for (const scenario of scenarios) {
    const dir = path.join(OUT, name);
    const args = ['client', '--scenario', scenario, '--spec-version', REVISION, '--force', '--timeout', '30000', '-o', dir,
      '--command', `${process.execPath} ${path.join(HERE, 'driver.mjs')}`];
    const code = await suite(name, args, { PROXY: JSON.stringify([HOLDFAST, 'bridge']) });
    const found = verdict(dir, scenario);
    results.set(scenario, code === 0 || found !== 'ok' ? found : `the suite ended with ${code}`);
  }
  return results;
}

const stdioFixture = (half) => ({
  command: process.execPath, args: [fixture, 'stdio'], ...(half === undefined ? {} : { prefix: 'never', env: { FIXTURE_HALF: half } }),
});
const http = await start('fixture', process.execPath, [fixture, 'http', '0'], /listening on (http:\S+)/);
const each = await gateway('each', { stdio: stdioFixture(), http: { url: http.hit[1] } });
const halves = await gateway('halves', { first: stdioFixture('0'), second: stdioFixture('1') });

const columns = {
  stdio: await serverSuite('stdio', `${each.url}/mcp/stdio`),
  http: await serverSuite('http', `${each.url}/mcp/http`),
  halves: await serverSuite('halves', `${halves.url}/mcp`),
};
const client = await clientSuite('client', scored.client.filter((scenario) => !scenario.startsWith('auth/')));
await Promise.all([stop(each.child), stop(halves.child), stop(http.child)]);

const passed = (results) => [...results.values()].filter((found) => found === 'ok').length;
const say = (line) => console.log(`# table: ${line}`);
const names = Object.keys(columns);
say(`${REVISION}, server mode`.padEnd(40) + names.map((name) => name.padEnd(9)).join(''));
for (const scenario of scored.server) {
  say(`  ${scenario}`.padEnd(40) + names.map((name) => (columns[name].get(scenario) === 'ok' ? 'ok' : 'MISS').padEnd(9)).join(''));
}
say('  passed'.padEnd(40) + names.map((name) => `${passed(columns[name])}/${columns[name].size}`.padEnd(9)).join(''));
say(`${REVISION}, client mode without auth`.padEnd(40) + 'bridge');
for (const [scenario, found] of client) say(`  ${scenario}`.padEnd(40) + (found === 'ok' ? 'ok' : 'MISS'));
say('  passed'.padEnd(40) + `${passed(client)}/${client.size}`);

let count = 0;
const check = (name, results, least) => {
  const ok = passed(results) === results.size && results.size === least;
  for (const [scenario, found] of results) if (found !== 'ok') console.log(`# ${scenario}: ${found}`);
  console.log(`${ok ? '' : 'not '}ok ${++count} - ${name}`);
  return ok;
};
const all = [
  check('the_official_suite_passes_30_of_30_in_front_of_a_stdio_server', columns.stdio, 30),
  check('the_official_suite_passes_30_of_30_in_front_of_an_http_server', columns.http, 30),
  check('the_official_suite_passes_30_of_30_in_front_of_two_halves_under_their_own_names', columns.halves, 30),
  check('what_the_bridge_sends_passes_4_of_4', client, 4),
];
console.log(`1..${count}`);
process.exit(all.every(Boolean) ? 0 : 1);
