// sdk_v2.mjs - the official SDK, second generation, in each of the two eras it speaks.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export const library = '@modelcontextprotocol/client';

export const inMode = (mode) => async ({ url, ...program }) => {
  const client = new Client({ name: 'sdk-v2', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport(program));
  return {
    list: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text,
    close: () => client.close(),
  };
};
