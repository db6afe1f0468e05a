// mastra.mjs - Mastra's client. On a JSON-RPC error with certain words in it, it connects anew and sends the call again.
import { randomUUID } from 'node:crypto';
import { noopLogger } from '@mastra/core/logger';
import { MCPClient } from '@mastra/mcp';

export const library = '@mastra/mcp';

export async function connect({ url, command, args, cwd, env }) {
  const server = url ? { url: new URL(url) } : { command, args, cwd, env, stderr: 'ignore' };
  const client = new MCPClient({ id: randomUUID(), servers: { hf: server } });
  client.__setLogger(noopLogger);
  const tools = async () => (await client.listToolsets()).hf;
  await tools();
  return {
    list: async () => Object.keys(await tools()),
    call: async (name, params) => (await (await tools())[name].execute(params)).content[0].text,
    close: () => client.disconnect(),
  };
}
