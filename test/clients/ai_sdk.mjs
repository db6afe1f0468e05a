// ai_sdk.mjs - the MCP client of the AI SDK. Its opt-in retries are on: holdfast must never give it a reason to use them.
import { createMCPClient } from '@ai-sdk/mcp';
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';

export const library = '@ai-sdk/mcp';

export async function connect({ url, ...program }) {
  const transport = url ? { type: 'http', url } : new StdioMCPTransport(program);
  const client = await createMCPClient({ transport, maxRetries: 2 });
  return {
    list: async () => Object.keys(await client.tools()),
    call: async (name, args) => {
      const tools = await client.tools();
      const { content } = await tools[name].execute(args, { toolCallId: `call-${name}`, messages: [] });
      return content[0].text;
    },
    close: () => client.close(),
  };
}
