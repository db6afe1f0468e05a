// agents.mjs - the agents that npm has, and how each is told of its model, of its MCP server, and to ask nobody.
//
// `setup` writes the agent's files and returns its command line and environment. `home` and `work` are its own; `target`
// is { command, args, env } or { url }; `model` is the URL of the scripted model.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { BUILD } from '../../e2e/harness.mjs';
import { Model } from './model.mjs';

export const MODULES = path.join(BUILD, 'agents/node_modules');
const LIMIT_MS = 180_000;
const PROMPT = 'Do what the script says.';

function write(file, content) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
}
const quiet = { privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false }, general: { disableAutoUpdate: true } };
const program = ({ command, args, env }) => ({ command, args, env });

/** Qwen Code; `more` settings show a model the tools of servers, which it hides behind a search by default. */
function setupQwen({ work, target, model }, { server = {}, ...more }) {
  const hf = { ...(target.url ? { httpUrl: target.url } : program(target)), trust: true, ...server };
  write(path.join(work, '.qwen/settings.json'), { ...quiet, mcpServers: { hf }, security: { auth: { selectedType: 'openai' } }, ...more });
  return {
    args: ['-p', PROMPT, '--yolo', '--auth-type', 'openai'],
    env: { OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: 'dummy', OPENAI_MODEL: 'm', QWEN_CODE_LEGACY_MCP_BLOCKING: '1' },
  };
}

export const AGENTS = {
  claude_code: {
    library: '@anthropic-ai/claude-code', bin: '.bin/claude',
    setup({ work, target, model }) {
      const file = path.join(work, 'mcp.json');
      write(file, { mcpServers: { hf: target.url ? { type: 'http', url: target.url } : program(target) } });
      return {
        args: ['-p', PROMPT, '--mcp-config', file, '--strict-mcp-config', '--allowedTools', 'mcp__hf__*'],
        env: {
          ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'dummy', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1',
          DISABLE_AUTOUPDATER: '1', ENABLE_TOOL_SEARCH: 'false', // tools behind a search are no tools for a script
        },
      };
    },
  },
  codex: {
    library: '@openai/codex', bin: '.bin/codex',
    setup({ home, target, model }) {
      const toml = (value) => JSON.stringify(value);
      const { command, args, env = {} } = target;
      const server = target.url
        ? [`url = ${toml(target.url)}`]
        : [`command = ${toml(command)}`, `args = ${toml(args)}`, '[mcp_servers.hf.env]', ...Object.entries(env).map(([key, value]) => `${toml(key)} = ${toml(value)}`)];
      write(path.join(home, 'codex/config.toml'), [
        'model = "m"', 'model_provider = "mock"', 'approval_policy = "never"', 'sandbox_mode = "danger-full-access"',
        '[model_providers.mock]', 'name = "mock"', `base_url = ${toml(`${model}/v1`)}`, 'wire_api = "responses"',
        '[mcp_servers.hf]', ...server, '',
      ].join('\n'));
      return { args: ['exec', '--skip-git-repo-check', PROMPT], env: { CODEX_HOME: path.join(home, 'codex') } };
    },
  },
  gemini_cli: {
    library: '@google/gemini-cli', bin: '.bin/gemini',
    setup({ work, target, model }) {
      const server = target.url ? { httpUrl: target.url } : program(target);
      write(path.join(work, '.gemini/settings.json'), { ...quiet, mcpServers: { hf: { ...server, trust: true } }, security: { auth: { selectedType: 'gemini-api-key' } } });
      return {
        args: ['-p', PROMPT, '--yolo', '-m', 'gemini-2.5-pro'], // a model by name: else it first asks a model which model
        env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'dummy', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
      };
    },
  },
  qwen_code: {
    library: '@qwen-code/qwen-code', bin: '@qwen-code/qwen-code/cli-entry.js',
    setup: (world) => setupQwen(world, { server: { alwaysLoadTools: true } }),
  },
  /** Its last release that sends any call again after any error. */
  qwen_code_015: {
    library: 'qwen-code-0.15', bin: 'qwen-code-0.15/cli.js',
    setup: (world) => setupQwen(world, { tools: { exclude: ['tool_search'] } }),
  },
  opencode: {
    library: 'opencode-ai', bin: '.bin/opencode',
    setup({ work, target, model }) {
      const { command, args, env, url } = target;
      const provider = { npm: '@ai-sdk/openai-compatible', name: 'mock', options: { baseURL: `${model}/v1`, apiKey: 'dummy' }, models: { m: { name: 'm', tool_call: true } } };
      write(path.join(work, 'opencode.json'), {
        autoupdate: false, share: 'disabled', model: 'mock/m', small_model: 'mock/m', permission: 'allow', provider: { mock: provider },
        mcp: { hf: url ? { type: 'remote', url, enabled: true } : { type: 'local', command: [command, ...args], environment: env, enabled: true } },
      });
      return { args: ['run', PROMPT], env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' } };
    },
  },
};

/** An agent with this script, to its end or its time limit; what its model was told is in `told`, by step. */
export async function play(t, { bin, setup }, { dir, target, script }) {
  const [home, work] = ['home', 'work'].map((name) => path.join(dir, name));
  fs.mkdirSync(home);
  fs.mkdirSync(work);
  execFileSync('git', ['init', '-q', work], { env: { ...process.env, HOME: home } });
  const model = await new Model(script).start();
  t.after(() => model.stop());
  const { args, env } = setup({ home, work, target, model: model.url });
  const node = path.dirname(process.execPath); // some of them need a newer one than the machine has
  const child = spawn(path.join(MODULES, bin), args, {
    cwd: work, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: `${node}:${process.env.PATH}`, HOME: home, TERM: 'xterm-256color', NO_COLOR: '1', ...env },
  });
  const end = (signal) => { try { process.kill(-child.pid, signal); } catch { /* all of it has gone */ } };
  t.after(() => end('SIGKILL'));
  let said = '';
  child.stdout.on('data', (chunk) => { said += chunk; });
  child.stderr.on('data', (chunk) => { said += chunk; });
  const late = setTimeout(() => { said += `\nended after ${LIMIT_MS} ms\n`; end('SIGKILL'); }, LIMIT_MS);
  await new Promise((done) => child.on('close', done));
  clearTimeout(late);
  end('SIGKILL');
  fs.writeFileSync(path.join(dir, 'agent.log'), `${said}\n${model.requests.join('\n')}\n${JSON.stringify(model.told, null, 1)}\n`);
  return { said, told: model.told, missing: model.missing, broken: model.broken };
}
