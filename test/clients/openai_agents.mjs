// openai_agents.mjs - an agent of the OpenAI Agents SDK whose model is a script: it calls one tool, and what the agent
// hands back to the model is what the caller is told.
import { Agent, MCPServerStdio, MCPServerStreamableHttp, Runner, Usage } from '@openai/agents';

export const library = '@openai/agents';

class ScriptedModel {
  constructor(name, args) {
    this.item = { type: 'function_call', callId: 'call-1', name, status: 'completed', arguments: JSON.stringify(args) };
  }
  async getResponse({ input }) {
    const told = input.find((item) => item.type === 'function_call_result');
    this.told ??= told?.output;
    const last = { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] };
    return { usage: new Usage(), output: [told ? last : this.item] };
  }
}

export async function connect({ url, command, args, cwd, env }) {
  const server = url ? new MCPServerStreamableHttp({ url, name: 'hf' }) : new MCPServerStdio({ command, args, cwd, env, name: 'hf' });
  await server.connect();
  return {
    list: async () => (await server.listTools()).map((tool) => tool.name),
    call: async (name, params) => {
      const model = new ScriptedModel(name, params);
      await new Runner({ tracingDisabled: true }).run(new Agent({ name: 'a', model, mcpServers: [server] }), 'go');
      return [model.told].flat().map((part) => part.text ?? part).join('\n');
    },
    close: () => server.close(),
  };
}
