// plain.mjs - JSON-RPC as it stands on the wire, with no library in between: what the libraries are compared with.
import { Peer } from '../e2e/harness.mjs';
import { HttpClient } from '../e2e/http_harness.mjs';

export const library = 'plain JSON-RPC';

export async function connect({ url, command, args, cwd, env }) {
  const { hostname: address, port, pathname } = url ? new URL(url) : {};
  const peer = url ? new HttpClient({ scheme: 'http', address, port }, pathname) : new Peer(command, args, { cwd, env });
  await peer.initialize();
  const answers = [];
  return {
    answers, // whole, in the order of the calls
    list: () => peer.toolNames(),
    call: async (name, params) => {
      const answer = await peer.call(name, params);
      answers.push(answer);
      return answer.error ? answer.error.message : answer.result.content[0].text;
    },
    close: async () => {
      if (url) return peer.leave();
      peer.end();
      return peer.exitWithin();
    },
  };
}
