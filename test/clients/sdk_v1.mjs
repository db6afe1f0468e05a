// sdk_v1.mjs - the official SDK, first generation.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export const library = '@modelcontextprotocol/sdk';

export async function connect({ url, ...program }) {
  const client = new Client({ name: 'sdk-v1', version: '1' });
  await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport(program));
  return {
    list: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text,
    close: () => client.close(),
  };
}
