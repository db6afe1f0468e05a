// mcp_use.mjs - the client of mcp-use 1.x; from 2.0 on the package is a server and its client another package. What
// only its server, inspector and command line need (400 MB) is left out by `overrides` in test/package.json.
import { MCPClient } from 'mcp-use/client';

export const library = 'mcp-use';

export async function connect({ url, command, args, cwd, env }) {
  const server = url ? { url, transport: 'http', disableSseFallback: true } : { command, args, cwd, env };
  const client = new MCPClient({ mcpServers: { hf: server } });
  const session = await client.createSession('hf');
  return {
    list: async () => (await session.listTools()).map((tool) => tool.name),
    call: async (name, params) => (await session.callTool(name, params)).content[0].text,
    close: () => client.closeAllSessions(),
  };
}
