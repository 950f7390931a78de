/** Starts coding agents as the guide says, in an empty home directory, with only the loopback network. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import type { Isolation } from './isolation.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const guide = readFileSync(new URL('../../docs/guides/coding-agents.md', import.meta.url), 'utf8');
const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

export type Settings = { origin: string; key: string; model: string };

type Call = { name: string; arguments: Record<string, unknown> };

export type Agent = {
  name: string;
  version: string;
  /** The number of requests for a prompt that needs no tool. */
  requests: number;
  /** The tool calls that replace `before` with `after` in a file. */
  edit(file: string): Call[];
  /** The maximum number of requests when the quota is spent. */
  refusals: number;
  /** Whether the agent exits when the quota is spent. Otherwise it waits for `Retry-After`. */
  endsWithoutQuota: boolean;
  /** The signal that stops the agent; by default SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** Writes the agent's configuration to `home`. Returns the agent's environment variables. */
  configure(home: string, settings: Settings): Record<string, string>;
  /** The command for a prompt that the guide has no transcript of. The agent asks for no permissions. */
  command(prompt: string): [string, string[]];
};

/** The guide's example in a language, with the origin, key, and model replaced. */
function example(language: string, { key, model, origin }: Settings): string {
  const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(guide) ?? [];
  if (code === undefined) throw new Error(`The guide has no example in ${language}.`);
  return code
    .replaceAll('http://localhost:3000', origin)
    .replaceAll('my-model', model)
    .replaceAll('$PARLEY_KEY', key);
}

/** A command from the guide, and lines of its output. */
export type Transcript = { command: string; printed: string[] };

/** The transcript in the guide's section about an agent. */
export function transcriptOf({ name }: Agent): Transcript {
  const section = guide.split('\n## ').find((part) => part.startsWith(`Use ${name} with Parley\n`));
  const [, code] = /```console\n(.*?)```/s.exec(section ?? '') ?? [];
  const [first = '', ...printed] = code?.trimEnd().split('\n') ?? [];
  if (!first.startsWith('$ ')) throw new Error(`The guide has no transcript of ${name}.`);
  return { command: first.slice(2), printed };
}

function write(home: string, name: string, content: string): void {
  mkdirSync(join(home, name, '..'), { recursive: true });
  writeFileSync(join(home, name), content);
}

const programs = join(folder, 'node_modules/.bin');
const bin = (name: string) => join(programs, name);

export const agents: readonly Agent[] = [
  {
    name: 'Codex',
    version: dependencies['@openai/codex'],
    requests: 1,
    edit: (file) => [{ name: 'exec_command', arguments: { cmd: `sed -i s/before/after/ ${file}` } }],
    refusals: 1,
    endsWithoutQuota: true,
    configure(home, settings) {
      write(home, '.codex/config.toml', example('toml', settings));
      return { PARLEY_KEY: settings.key };
    },
    command: (prompt) => [
      bin('codex'),
      ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    ],
  },
  {
    name: 'Claude Code',
    version: dependencies['@anthropic-ai/claude-code'],
    requests: 1,
    edit: (file) => [
      { name: 'Read', arguments: { file_path: file } },
      { name: 'Edit', arguments: { file_path: file, old_string: 'before', new_string: 'after' } },
    ],
    refusals: 1,
    endsWithoutQuota: true,
    configure(_home, settings) {
      const lines = example('shell', settings).matchAll(/^export (\w+)=(.*)$/gm);
      // As root, Claude Code skips permissions only in a sandbox.
      return { IS_SANDBOX: '1', ...Object.fromEntries([...lines].map(([, name, value]) => [name, value])) };
    },
    command: (prompt) => [bin('claude'), ['-p', '--dangerously-skip-permissions', prompt]],
  },
  {
    name: 'opencode',
    version: dependencies['opencode-ai'],
    // One request is for the title.
    requests: 2,
    edit: (file) => [
      { name: 'read', arguments: { filePath: file } },
      { name: 'edit', arguments: { filePath: file, oldString: 'before', newString: 'after' } },
    ],
    // Three requests are for the title, which the library retries.
    refusals: 4,
    endsWithoutQuota: false,
    configure(home, settings) {
      write(home, '.config/opencode/opencode.json', example('json', settings));
      return {
        PARLEY_KEY: settings.key,
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      };
    },
    command: (prompt) => [bin('opencode'), ['run', prompt]],
  },
  {
    name: 'Cline',
    version: dependencies.cline,
    requests: 1,
    // After SIGTERM, Cline lets the reply continue.
    stopSignal: 'SIGINT',
    edit: (path) => [{ name: 'editor', arguments: { path, old_text: 'before', new_text: 'after' } }],
    // Cline retries 5 times, which takes a minute.
    refusals: 6,
    endsWithoutQuota: true,
    configure(home, settings) {
      write(home, 'configure', example('sh', settings));
      // Otherwise Cline leaves a process behind that checks for updates.
      return { CLINE_SESSION_BACKEND_MODE: 'local', CLINE_NO_AUTO_UPDATE: '1' };
    },
    command: (prompt) => ['sh', ['-c', '. ../configure && exec cline "$0"', prompt]],
  },
  {
    name: 'Continue',
    version: dependencies['@continuedev/cli'],
    requests: 1,
    edit: (file) => [
      { name: 'Read', arguments: { filepath: file } },
      { name: 'Edit', arguments: { file_path: file, old_string: 'before', new_string: 'after' } },
    ],
    // Continue retries 10 times, which takes two minutes.
    refusals: 11,
    endsWithoutQuota: true,
    configure(home, settings) {
      write(home, '.continue/config.yaml', example('yaml', settings));
      return { CONTINUE_TELEMETRY_ENABLED: '0' };
    },
    command: (prompt) => [bin('cn'), ['--config', '../.continue/config.yaml', '--auto', '-p', prompt]],
  },
];

export type Run = {
  child: ChildProcess;
  /** The agent's working directory. */
  folder: string;
  /** Everything that the agent printed so far. */
  output(): string;
  /** Resolves with the exit code, or null if a signal ended the process. */
  ended: Promise<number | null>;
  /** Signals the agent and its child processes. */
  kill(signal: NodeJS.Signals): void;
};

export type Place = Settings & { isolation: Isolation };

/**
 * Starts an agent with a prompt, or with the command of a transcript. It runs in a new git repository with the file
 * `notes.txt`, which contains `before`. That repository is outside this one, so the agent does not read this project.
 * The agent is killed when the test ends.
 */
export function runAgent(
  t: Test,
  agent: Agent,
  { isolation, ...settings }: Place,
  asked: string | Transcript,
): Run {
  const home = mkdtempSync(join(tmpdir(), 'parley-agent-'));
  const work = join(home, 'work');
  write(home, 'work/notes.txt', 'before\n');
  execFileSync('git', ['init', '--quiet', work]);
  const env = agent.configure(home, settings);
  const [command, parameters] = isolation.wrap(
    typeof asked === 'string'
      ? agent.command(asked)
      : ['sh', ['-c', `[ ! -f ../configure ] || . ../configure; ${asked.command}`]],
  );
  const child = spawn(command, parameters, {
    cwd: work,
    // A separate process group, because agents start other programs.
    detached: true,
    env: {
      PATH: `${programs}:${process.env.PATH}`,
      HOME: home,
      TERM: 'dumb',
      ...isolation.environment,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data;
    });
  const kill = (signal: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid as number), signal);
    } catch {
      // The process has already exited.
    }
  };
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  t.teardown(async () => {
    kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
  return { child, folder: work, output: () => output, ended, kill };
}
