// langchain.mjs - LangChain's adapters: each tool of the server becomes a tool of LangChain.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

export const library = '@langchain/mcp-adapters';

export async function connect({ url, command, args, cwd, env }) {
  const server = url ? { transport: 'http', url, automaticSSEFallback: false } : { transport: 'stdio', command, args, cwd, env, stderr: 'ignore' };
  const client = new MultiServerMCPClient({ mcpServers: { hf: server }, throwOnLoadError: true });
  await client.initializeConnections();
  return {
    list: async () => (await client.getTools()).map((tool) => tool.name),
    call: async (name, params) => (await client.getTools()).find((tool) => tool.name === name).invoke(params),
    close: () => client.close(),
  };
}
