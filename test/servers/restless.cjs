// restless.cjs - a server that means no good: many tools whose names collide under an unkeyed hash, a list that is
// another one at each look and says so each time, or calls that are never answered.
//
//   node restless.cjs collide PREFIX     node restless.cjs change     node restless.cjs hang
const readline = require('node:readline');

const PLACES = 11;
const STATES = 1 << 18;
const fnv = (state, text) => [...Buffer.from(text)].reduce((s, byte) => Number((BigInt(s ^ byte) * 16777619n) % BigInt(STATES)), state);

/** Two pieces of text that lead from one state of FNV-1a to the same next one. */
function pairFrom(state) {
  const seen = new Map();
  for (let i = 0; ; i++) {
    const piece = i.toString(36).padStart(4, '0');
    const next = fnv(state, piece);
    if (seen.has(next)) return { next, pieces: [seen.get(next), piece] };
    seen.set(next, piece);
  }
}

function collidingNames(prefix) {
  let names = [''];
  let state = fnv(2166136261 % STATES, prefix);
  for (let place = 0; place < PLACES; place++) {
    const { next, pieces } = pairFrom(state);
    names = names.flatMap((name) => pieces.map((piece) => name + piece));
    state = next;
  }
  return names;
}

const [kind, prefix = ''] = process.argv.slice(2);
const fixed = kind === 'collide' ? collidingNames(prefix) : [];
let looks = 0;
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const toolsOf = (names) => ({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) });

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') {
    say({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true } }, serverInfo: { name: kind, version: '1' } } });
  } else if (method === 'tools/list') {
    say({ id, result: toolsOf(kind === 'collide' ? fixed : [kind === 'hang' ? 'hang' : `look${looks++}`]) });
    if (kind === 'change') say({ method: 'notifications/tools/list_changed' });
  } else if (method !== 'tools/call') {
    say({ id, result: {} });
  }
});
