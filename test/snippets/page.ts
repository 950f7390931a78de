/** Runs the snippets of one page in order, as a reader who follows it does, against a running service. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { scopes } from '../../schemas/keys.ts';
import { runOperatorCommand } from '../../src/commands/operator.ts';
import { carriedUsage } from '../../src/database/tables.ts';
import { strictly } from '../sdk/support.ts';
import { isInstalled } from '../support/programs.ts';
import { freshDatabase, type TestService } from '../support/service.ts';
import { exceptionOf, isMeant } from './exceptions.ts';
import type { Snippet } from './markdown.ts';
import { type Recorder, startRecorder } from './recorder.ts';
import { shownProblem } from './shown.ts';
import { proxyOf } from './vite.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The URL of the service on every page. */
const WRITTEN_ORIGIN = 'http://localhost:3000';
const TIMEOUT_MS = 60_000;

const ada = { email: 'ada@example.com', password: 'correct horse battery' };

/** A result: `what` for the list, `problem` if the snippet failed, `skipped` if this machine lacks a program. */
export type Outcome = { what: string; problem?: string; skipped?: string };

/** Passes shell variables, exported or not, from each snippet of a page to the next. */
const before = `
known=$(compgen -v)
. ./.state
`;
const after = `
for name in $(compgen -v | grep -vxF "$known" | grep -E '^[A-Z][A-Z0-9_]*$' | grep -vE '^(BASH_|PIPESTATUS$)'); do
  declare -p "$name"
done > .state
`;

/** Replaces `make`: runs the targets that a page runs in the checkout in the folder of the page instead. */
const make = `#!/bin/sh
case "$1" in
sdk) exec '${process.execPath}' '${root}tools/sdk/build.mjs' "$PWD/sdk";;
*) echo "make $1 is not for a page" >&2; exit 1;;
esac
`;

const cookieIn = (headers: Headers): string =>
  headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');

export class Page {
  readonly #t: Test;
  readonly #service: TestService;
  readonly #recorder: Recorder;
  readonly #folder: string;
  readonly #snippets: readonly Snippet[];
  readonly #env: NodeJS.ProcessEnv;
  #areTypesChecked = false;

  private constructor(
    t: Test,
    service: TestService,
    recorder: Recorder,
    folder: string,
    snippets: readonly Snippet[],
  ) {
    this.#t = t;
    this.#service = service;
    this.#recorder = recorder;
    this.#folder = folder;
    this.#snippets = snippets;
    this.#env = {
      PATH: `${join(folder, '.bin')}:${process.env.PATH}`,
      HOME: folder,
      LANG: 'C.UTF-8',
      DATA_DIR: service.env.DATA_DIR,
      npm_config_offline: 'true',
      npm_config_update_notifier: 'false',
    };
  }

  /** Gives the page an account with a key and a session, as its readers have, unless the page creates them. */
  static async open(t: Test, service: TestService, snippets: readonly Snippet[]): Promise<Page> {
    const recorder = await startRecorder(t, service.client.origin);
    const folder = mkdtempSync(join(tmpdir(), 'parley-snippets-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, '.bin'));
    writeFileSync(join(folder, '.bin/make'), make);
    chmodSync(join(folder, '.bin/make'), 0o755);
    writeFileSync(join(folder, '.state'), '');
    writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
    const page = new Page(t, service, recorder, folder, snippets);
    if (!snippets.some(({ code }) => code.includes('/auth/signup'))) await page.#comeWithAccount();
    return page;
  }

  async #comeWithAccount(): Promise<void> {
    const { client } = this.#service;
    await client.post('/auth/signup', ada);
    const { headers } = await client.post('/auth/login', ada);
    const cookie = cookieIn(headers);
    const [name = '', value = ''] = cookie.split('=');
    const host = new URL(this.#recorder.origin).hostname;
    const jar = `#HttpOnly_${host}\tFALSE\t/\tFALSE\t0\t${name}\t${value}\n`;
    writeFileSync(join(this.#folder, 'cookies.txt'), jar);
    const { body } = await client.post('/keys', { name: 'first key', scopes: [...scopes] }, { cookie });
    writeFileSync(join(this.#folder, '.state'), `declare -x PARLEY_KEY="${body.key}"\n`);
    // Pages show these two responses without a request: an error, and the headers of a metered response.
    const { origin } = this.#recorder;
    await (await fetch(`${origin}/api/v1/usage`)).text();
    const authorization = { Authorization: `Bearer ${body.key}`, 'Content-Type': 'application/json' };
    const chat = { method: 'POST', headers: authorization, body: JSON.stringify({ message: 'Hello' }) };
    await (await fetch(`${origin}/api/v1/chat`, chat)).text();
  }

  /** Deletes the account, whatever the page has changed, because the next page signs up with the same address. */
  async close(): Promise<void> {
    const { app, client, database } = this.#service;
    const context = { db: database.db, config: app.config };
    for (const email of [ada.email, 'ada.lovelace@example.com']) {
      const lines = await runOperatorCommand(context, 'reset-password', [email]).catch(() => []);
      const [, password] = /: ([2-9a-z]{5}(?:-[2-9a-z]{5}){3})$/m.exec(lines.join('\n')) ?? [];
      if (password === undefined) continue;
      const { headers } = await client.post('/auth/login', { email, password });
      await client.request('DELETE', '/account', {
        body: { current_password: password },
        cookie: cookieIn(headers),
      });
    }
    // Otherwise, a new account with the same address would start with today's usage of this one.
    await database.db.delete(carriedUsage);
  }

  /** Runs one snippet. */
  async run(snippet: Snippet): Promise<Outcome> {
    const { code, language } = snippet;
    const exception = exceptionOf(snippet);
    if (exception !== undefined && language !== 'python') return { what: exception };
    if (['json', 'http'].includes(language)) {
      const problem = shownProblem(language, code, this.#recorder.answers);
      return { what: 'matches a response of the service', ...(problem && { problem }) };
    }
    if (['', 'text'].includes(language)) return this.#matchKey(code);
    const seen = this.#recorder.answers.length;
    const outcome = await this.#runProgram(snippet, exception);
    const answers = this.#recorder.answers.slice(seen);
    const refused = answers.find(({ status }) => !isMeant(status, snippet));
    if (outcome.problem === undefined && refused)
      return { ...outcome, problem: `${refused.method} ${refused.path} ${refused.status}: ${refused.body}` };
    return { ...outcome, what: `${outcome.what}, ${answers.length} requests` };
  }

  /** Checks that a pattern for API keys matches the whole key of the page. */
  async #matchKey(pattern: string): Promise<Outcome> {
    const { stdout } = await this.#shell('. ./.state; printf %s "$PARLEY_KEY"');
    const what = 'matches the key';
    return new RegExp(`^${pattern.trim()}$`).test(stdout)
      ? { what }
      : { what, problem: `it does not match ${stdout}` };
  }

  async #runProgram(
    { code, file, language, line }: Snippet,
    exception: string | undefined,
  ): Promise<Outcome> {
    const swapped = code.replaceAll(WRITTEN_ORIGIN, this.#recorder.origin);
    const name = `snippet-${line}`;
    const write = (ending: string, text = swapped) =>
      writeFileSync(join(this.#folder, `${name}.${ending}`), text);
    switch (language) {
      case 'bash': {
        const [program = ''] = code.split(' ');
        if (['pg_dump', 'git'].includes(program) && !isInstalled(program))
          return { what: 'skipped', skipped: `${program} is not installed` };
        if (program === 'pg_dump') return this.#dump(swapped);
        if (/^np(m run|x parley) /.test(code)) return this.#operate(swapped);
        if (program === 'git') await this.#shell('git init -q .');
        write('sh', `${before}\n${swapped}\n${after}`);
        return this.#outcomeOf(`bash -eu ${name}.sh`);
      }
      case 'python': {
        if (!isInstalled('python3')) return { what: 'skipped', skipped: 'python3 is not installed' };
        write('py');
        if (exception)
          return { ...(await this.#outcomeOf(`python3 -m py_compile ${name}.py`)), what: exception };
        return this.#outcomeOf(`. ./.state; exec python3 ${name}.py`);
      }
      case 'js': {
        if (code.includes('export default'))
          return proxyOf(this.#t, this.#folder, swapped, await this.#variables());
        this.#installPackages(code);
        write('mjs');
        // A program that swallows an error exits with 0 and prints nothing.
        const check = /console\.log|stdout\.write/.test(code) ? '[ -s .printed ]' : 'true';
        return this.#outcomeOf(
          `set -o pipefail; . ./.state; '${process.execPath}' ${name}.mjs | tee .printed && ${check}`,
        );
      }
      case 'ts': {
        const problem = await this.#checkTypes(file);
        if (problem) return { what: 'compiled', problem };
        return this.#outcomeOf(`. ./.state; exec '${process.execPath}' ${name}.js`);
      }
      default:
        return { what: 'not run', problem: `no runner for ${language}` };
    }
  }

  /** Runs an operator command in the checkout, while the service is running. */
  async #operate(command: string): Promise<Outcome> {
    await this.#service.client.post('/auth/signup', ada).catch(() => {});
    return this.#outcomeOf(`. '${this.#folder}/.state'; ${command}`, root);
  }

  /** Dumps a Postgres database with Parley's schema. */
  async #dump(command: string): Promise<Outcome> {
    const { drop, env } = await freshDatabase('postgres');
    this.#t.teardown(drop);
    const outcome = await this.#outcomeOf(`export DATABASE_URL='${env.DATABASE_URL}'; ${command}`);
    // On some test machines the server is newer than pg_dump, which refuses to dump it.
    if (outcome.problem?.includes('server version mismatch'))
      return { what: 'skipped', skipped: 'pg_dump is older than the server' };
    return outcome;
  }

  /** Compiles all TypeScript of the page at once, in strict mode. */
  async #checkTypes(file: string): Promise<string> {
    if (this.#areTypesChecked) return '';
    if (!existsSync(join(this.#folder, 'node_modules/parley-sdk')))
      await this.#shell('make sdk && npm install --silent ./sdk');
    cpSync(join(root, 'node_modules/@types/node'), join(this.#folder, 'node_modules/@types/node'), {
      recursive: true,
    });
    cpSync(join(root, 'node_modules/undici-types'), join(this.#folder, 'node_modules/undici-types'), {
      recursive: true,
    });
    const own = this.#snippets.filter((other) => other.file === file && other.language === 'ts');
    for (const { code, line } of own)
      writeFileSync(
        join(this.#folder, `snippet-${line}.ts`),
        code.replaceAll(WRITTEN_ORIGIN, this.#recorder.origin),
      );
    const files = own.map(({ line }) => `snippet-${line}.ts`);
    const problem = await strictly(this.#folder, files, {
      types: ['node'],
      noPropertyAccessFromIndexSignature: false,
    });
    this.#areTypesChecked = problem === '';
    return problem;
  }

  /** Links the packages that a program imports, from those of the client and framework tests. */
  #installPackages(code: string): void {
    const imports = code.matchAll(/ from '((?:@[^'/]+\/)?[^'/.:]+)'/g);
    const names = [...imports].map(([, name = '']) => name);
    const from = ['test/clients', 'test/frameworks']
      .map((folder) => join(root, folder, 'node_modules'))
      .find((modules) => names.every((name) => existsSync(join(modules, name))));
    if (from === undefined) return;
    for (const name of names) {
      const target = join(this.#folder, 'node_modules', name);
      mkdirSync(dirname(target), { recursive: true });
      if (!existsSync(target)) symlinkSync(join(from, name), target);
    }
  }

  async #variables(): Promise<NodeJS.ProcessEnv> {
    const { stdout } = await this.#shell('. ./.state; printf %s "$PARLEY_KEY"');
    return { PARLEY_KEY: stdout };
  }

  async #outcomeOf(command: string, cwd?: string): Promise<Outcome> {
    const { code, stderr, stdout } = await this.#shell(command, cwd);
    if (code === 0) return { what: 'ran' };
    return { what: 'ran', problem: `it exited with ${code}\n${stdout}\n${stderr}` };
  }

  #shell(command: string, cwd = this.#folder): Promise<{ code: number; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      const options = { cwd, env: this.#env, timeout: TIMEOUT_MS };
      execFile('bash', ['-c', command], options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
      );
    });
  }
}
