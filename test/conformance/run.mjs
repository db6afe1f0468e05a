// run.mjs - the official MCP conformance suite against holdfast, from both sides. Prints a table and TAP.
//
//   server mode:  suite ── HTTP ──► holdfast serve ──► fixtures on the official SDKs, of one era, of the other and of both,
//                 over stdio and over HTTP, and two half fixtures that only the aggregate makes whole
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
const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const SUITE = path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'));
const OUT = path.join(BUILD, 'conformance');
const LIMIT_MS = 120_000;
const fixture = (name) => path.join(HERE, `fixtures/${name}.mjs`);
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

const required = Object.fromEntries([LEGACY, MODERN].map((revision) => [
  revision, parse(fs.readFileSync(path.join(SUITE, 'requirements', `${revision}.yaml`), 'utf8')),
]));
// not scored by the suite, and one of them checks nothing in this version
const TASKS = required[MODERN].not_scored.filter(({ leg, scenario }) => leg === 'server' && scenario.startsWith('tasks-') && scenario !== 'tasks-status-notifications').map(({ scenario }) => scenario);

/** The checks of one scenario, from the file that the suite wrote. */
function verdict(dir, scenario) {
  const named = new RegExp(`^(server-)?${scenario}-\\d{4}-\\d\\d-\\d\\dT`);
  const folder = fs.existsSync(dir) && fs.readdirSync(dir).find((entry) => named.test(entry));
  const file = folder && path.join(dir, folder, 'checks.json');
  if (!file || !fs.existsSync(file)) return 'no result';
  const checks = JSON.parse(fs.readFileSync(file, 'utf8'));
  const bad = checks.filter((check) => check.status === 'FAILURE' || check.status === 'WARNING');
  if (bad.length > 0) return bad.map((check) => `${check.status === 'WARNING' ? 'warns' : 'fails'} ${check.id}`).join(', ');
  return checks.some((check) => check.status === 'SUCCESS') ? 'ok' : 'nothing checked';
}

async function serverSuite(name, revision, url, scenarios = required[revision].server) {
  const dir = path.join(OUT, name);
  await suite(name, ['server', '--url', url, '--requirements', revision, '--timeout', '15000', '-o', dir]);
  return new Map(scenarios.map((scenario) => [scenario, verdict(dir, scenario)]));
}

async function clientSuite(revision) {
  const results = new Map();
  for (const scenario of required[revision].client.filter((each) => !each.startsWith('auth/'))) {
    const name = `client-${revision}`;
    const dir = path.join(OUT, name);
    const args = ['client', '--scenario', scenario, '--spec-version', revision, '--force', '--timeout', '30000', '-o', dir,
      '--command', `${process.execPath} ${path.join(HERE, 'driver.mjs')}`];
    const code = await suite(name, args, { PROXY: JSON.stringify([HOLDFAST, 'bridge']) });
    const found = verdict(dir, scenario);
    results.set(scenario, code === 0 || found !== 'ok' ? found : `the suite ended with ${code}`);
  }
  return results;
}

const command = (name, args = [], more = {}) => ({ command: process.execPath, args: [fixture(name), 'stdio', ...args], ...more });
const half = (which) => command('legacy', [], { prefix: 'never', env: { FIXTURE_HALF: which } });
const listening = (name) => start(`${name}-fixture`, process.execPath, [fixture(name), 'http', '0'], /listening on (http:\S+)/);
const legacyHttp = await listening('legacy');
const dualHttp = await listening('modern');
const each = await gateway('each', {
  legacy: command('legacy'), 'legacy-http': { url: legacyHttp.hit[1] }, dual: command('modern'), 'dual-http': { url: dualHttp.hit[1] },
  modern: command('modern', ['modern-only']), tasks: command('tasks'),
});
const halves = await gateway('halves', { first: half('0'), second: half('1') });

/** A wire, what stands behind it, and the one scenario that cannot pass there, with the reason. */
const cells = [
  ['a_legacy_stdio_server', LEGACY, `${each.url}/mcp/legacy`],
  ['a_legacy_http_server', LEGACY, `${each.url}/mcp/legacy-http`],
  ['two_halves_under_their_own_names', LEGACY, `${halves.url}/mcp`],
  ['a_stdio_server_of_both_eras', LEGACY, `${each.url}/mcp/dual`],
  ['an_http_server_of_both_eras', LEGACY, `${each.url}/mcp/dual-http`],
  ['a_modern_server_behind_the_legacy_wire', LEGACY, `${each.url}/mcp/modern`],
  ['a_stdio_server_of_both_eras', MODERN, `${each.url}/mcp/dual`],
  ['an_http_server_of_both_eras', MODERN, `${each.url}/mcp/dual-http`],
  // this scenario wants an input key of its own choosing; a legacy server names no keys
  ['a_legacy_server_behind_the_modern_wire', MODERN, `${each.url}/mcp/legacy`, 'input-required-result-basic-elicitation'],
];
const columns = [];
for (const [name, revision, url, cannot] of cells) {
  columns.push({ name, revision, cannot, results: await serverSuite(`${revision}-${name}`, revision, url) });
}
const tasks = await serverSuite('tasks', MODERN, `${each.url}/mcp/tasks`, TASKS);
const clients = [LEGACY, MODERN].map((revision) => ({ revision }));
for (const each of clients) each.results = await clientSuite(each.revision);
await Promise.all([each, halves, legacyHttp, dualHttp].map(({ child }) => stop(child)));

const passed = (results) => [...results.values()].filter((found) => found === 'ok').length;
const say = (line) => console.log(`# table: ${line}`);
const mark = (found, isExpected) => (found === 'ok' ? 'ok' : isExpected ? 'cannot' : 'MISS');
for (const revision of [LEGACY, MODERN]) {
  const shown = columns.filter((column) => column.revision === revision);
  say(`${revision}, server mode; the columns:`);
  shown.forEach(({ name }, i) => say(`  ${i + 1} ${name.replaceAll('_', ' ')}`));
  for (const scenario of required[revision].server) {
    say(`  ${scenario}`.padEnd(50) + shown.map(({ results, cannot }) => mark(results.get(scenario), cannot === scenario).padEnd(7)).join(''));
  }
  say('  passed'.padEnd(50) + shown.map(({ results }) => `${passed(results)}/${results.size}`.padEnd(7)).join(''));
}
for (const [title, results] of [['tasks', tasks], ...clients.map((c) => [`${c.revision}, client mode without auth`, c.results])]) {
  say(title);
  for (const [scenario, found] of results) say(`  ${scenario}`.padEnd(50) + mark(found));
  say('  passed'.padEnd(50) + `${passed(results)}/${results.size}`);
}

let count = 0;
const check = (name, results, least, cannot) => {
  const bad = [...results].filter(([scenario, found]) => found !== 'ok' && scenario !== cannot);
  const ok = bad.length === 0 && results.size === least && (!cannot || results.get(cannot) !== 'ok');
  for (const [scenario, found] of bad) console.log(`# ${scenario}: ${found}`);
  console.log(`${ok ? '' : 'not '}ok ${++count} - ${name}`);
  return ok;
};
const all = [
  ...columns.map(({ name, revision, results, cannot }) => {
    const [least, year] = revision === LEGACY ? [30, '2025'] : [37, '2026'];
    return check(`the_official_suite_of_${year}_passes_${cannot ? least - 1 : least}_of_${least}_in_front_of_${name}`, results, least, cannot);
  }),
  check('the_official_scenarios_for_tasks_pass_9_of_9', tasks, 9),
  ...clients.map(({ revision, results }) => {
    const [least, year] = revision === LEGACY ? [4, '2025'] : [7, '2026'];
    return check(`what_the_bridge_sends_passes_${least}_of_${least}_of_${year}`, results, least);
  }),
];
console.log(`1..${count}`);
process.exit(all.every(Boolean) ? 0 : 1);
