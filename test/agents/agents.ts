/** How coding agents are started: as the guide says, in a clean home, without a network but loopback. */
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
  /** Requests for a prompt that needs no tool. */
  requests: number;
  /** What the model has to call so that the agent replaces `before` by `after` in a file. */
  edit(file: string): Call[];
  /** At most so many requests when the quota is spent. */
  refusals: number;
  /** Whether it ends when the quota is spent; otherwise it waits for `Retry-After`. */
  endsWithoutQuota: boolean;
  /** The signal that stops it, in place of SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** Writes its configuration below `home`; returns its environment. */
  configure(home: string, settings: Settings): Record<string, string>;
  /** For what the guide has no transcript of: no question whether it may. */
  command(prompt: string): [string, string[]];
};

/** The guide's example in a language, with this service, key, and model in place of the guide's. */
function example(language: string, { key, model, origin }: Settings): string {
  const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(guide) ?? [];
  if (code === undefined) throw new Error(`The guide has no example in ${language}.`);
  return code
    .replaceAll('http://localhost:3000', origin)
    .replaceAll('my-model', model)
    .replaceAll('$PARLEY_KEY', key);
}

/** A command of a guide, and what it prints, among other lines. */
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
      // As root, it edits files without asking only in a sandbox.
      return { IS_SANDBOX: '1', ...Object.fromEntries([...lines].map(([, name, value]) => [name, value])) };
    },
    command: (prompt) => [bin('claude'), ['-p', '--dangerously-skip-permissions', prompt]],
  },
  {
    name: 'opencode',
    version: dependencies['opencode-ai'],
    // One is for the title.
    requests: 2,
    edit: (file) => [
      { name: 'read', arguments: { filePath: file } },
      { name: 'edit', arguments: { filePath: file, oldString: 'before', newString: 'after' } },
    ],
    // Three for the title, which its library tries again.
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
    // After SIGTERM, it lets the answer go on.
    stopSignal: 'SIGINT',
    edit: (path) => [{ name: 'editor', arguments: { path, old_text: 'before', new_text: 'after' } }],
    // It tries again 5 times, which takes a minute.
    refusals: 6,
    endsWithoutQuota: true,
    configure(home, settings) {
      write(home, 'configure', example('sh', settings));
      // Otherwise it leaves a process behind, which looks for new versions.
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
    // It tries again 10 times, which takes two minutes.
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
  /** The folder that it works in. */
  folder: string;
  output(): string;
  /** Resolves with the exit code; null if a signal ended it. */
  ended: Promise<number | null>;
  /** Signals the agent and all that it started. */
  kill(signal: NodeJS.Signals): void;
};

export type Place = Settings & { isolation: Isolation };

/**
 * Starts an agent with a prompt, or as a transcript does, in a git repository with the file `notes.txt`, which says
 * `before`. It is outside this repository, whose files and history an agent would otherwise read.
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
    // A group of its own: agents are programs that start others.
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
      // It has ended.
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
