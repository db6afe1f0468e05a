// Servers that stop or kill their guard: nothing of their tree is left, whoever ends first.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { isAlive, isGone, killNow, lines, processState, run, runReady, stop, textOf, until } from './harness.mjs';

const QUICK = ['--close-ms', '50', '--term-ms', '50', '--kill-ms', '500', '--reconnect-min-ms', '0', '--reconnect-max-ms', '0'];

/** The parent of a server is its guard. */
function guardOf(pid) {
  return Number(/^PPid:\s+(\d+)$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

/** A deaf server with a deaf grandchild in a session of its own, and its guard. */
async function deafTree(t, options = []) {
  const hf = await runReady(t, { options: [...QUICK, ...options], flags: ['--hang-close'] });
  textOf(await hf.call('spawn_grandchild', { hold: 'ioe' }));
  const [grandchild] = await until(() => hf.server.grandchildren().length && hf.server.grandchildren(), 'the grandchild');
  const server = hf.server.pid();
  return { hf, server, grandchild, guard: guardOf(server) };
}

async function assertTreeIsGone(tree) {
  for (const who of ['server', 'grandchild', 'guard']) await until(() => isGone(tree[who]), `the ${who} to be gone`);
}

/**
 * From the moment there is a file `go`, whoever wakes `guard` finds it stopped again. In the tree of the server, so that it must go too.
 * Not before: a guard that is stopped before it has told of its server makes the start time out, which is not what is tested here.
 */
const JAILER = 'guard=$PPID; (trap "" TERM; until [ -e go ]; do sleep 0.01; done; while kill -STOP $guard 2>/dev/null; do :; done) & '
  + 'echo $! > jailer; exec "$0" "$@"';

/** A process that has left its session, has no environment, and whose parents are gone. */
const ORPHAN = '(env -i setsid sh -c "trap \'\' TERM; echo \\$\\$ > orphan; exec sleep 1000" </dev/null >/dev/null 2>&1 &) ; exec "$0" "$@"';

/** As runReady, but `sh -c SCRIPT` comes first; returns the pid that it left in FILE, too. */
async function withScript(t, script, file, flags = []) {
  const plain = run(t, { failsStarts: true }); // for its server's files only
  plain.end();
  await plain.exitWithin();
  plain.server.failStarts(false);
  const dir = plain.dir;
  const hf = run(t, { options: [...QUICK, '--cwd', dir], command: ['sh', '-c', script, plain.server.command, ...plain.server.args, ...flags] });
  hf.servers = { effects: plain.server };
  await hf.initialize();
  textOf(await hf.call('echo', { text: 'ready' }));
  const pid = await until(() => Number(lines(path.join(dir, file))[0]), `the pid in ${file}`);
  t.after(() => { if (isAlive(pid)) killNow(pid); });
  assert.ok(isAlive(pid));
  return { hf, pid, dir, guard: guardOf(plain.server.pid()) };
}

test('a_tree_behind_a_stopped_guard_is_gone_when_holdfast_stops', async (t) => {
  const tree = await deafTree(t);
  await stop(tree.guard);
  await tree.hf.finish();
  await assertTreeIsGone(tree);
});

test('a_tree_behind_a_stopped_guard_is_gone_when_its_runtime_ends', async (t) => {
  const tree = await deafTree(t);
  await stop(tree.guard);
  killNow(tree.server); // its grandchild still holds the pipes: there is no end of file
  await until(() => !isAlive(tree.server), 'the server to die');
  textOf(await tree.hf.call('effect', { key: 'next' })); // by the next generation
  await assertTreeIsGone(tree);
  await tree.hf.finish();
});

test('a_tree_behind_a_stopped_guard_is_gone_when_holdfast_is_killed', async (t) => {
  const tree = await deafTree(t);
  await stop(tree.guard);
  killNow(tree.hf.pid);
  await assertTreeIsGone(tree);
});

test('a_guard_that_is_stopped_again_and_again_is_killed_and_its_tree_adopted', async (t) => {
  const { hf, pid, dir, guard } = await withScript(t, JAILER, 'jailer', ['--hang-close']);
  fs.writeFileSync(path.join(dir, 'go'), '');
  await until(() => processState(guard) === 'T', 'the guard to be stopped');
  await hf.finish();
  await until(() => isGone(pid) && isGone(guard), 'the jailer and the guard to be gone');
});

test('an_orphan_without_session_and_environment_is_gone_with_the_runtime_whose_guard_was_killed', async (t) => {
  const { hf, pid, guard } = await withScript(t, ORPHAN, 'orphan');
  killNow(guard);
  await until(() => isGone(pid), 'the orphan to be gone');
  textOf(await hf.call('effect', { key: 'next' }));
  await hf.finish();
});
