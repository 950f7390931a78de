/** Runs snippets that start a service. Only the addresses of servers that this machine lacks are replaced. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { defaultPlans } from '../../src/domain/plans.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { freePort } from '../support/programs.ts';
import { freshDatabase } from '../support/service.ts';
import type { Upstream } from '../support/upstream/client.ts';
import type { Snippet } from './markdown.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const settings = readFileSync(join(root, 'docs/guides/running-parley.md'), 'utf8');
/** The value of a variable that a command reads from the reader's shell. */
const PROVIDER_KEY = 'provider-key-0123456789';

export const isStart = ({ code, language }: Snippet): boolean =>
  language === 'bash' && /\bmake start$/m.test(code);

/** The variables that a command sets before `make start`. */
export function variablesOf(code: string): Record<string, string> {
  const pairs = [...code.matchAll(/\b([A-Z_]+)=('[^']*'|"[^"]*"|\S+)/g)];
  return Object.fromEntries(
    pairs.map(([, name = '', value = '']) => [
      name,
      value.replace(/^['"]|['"]$/g, '').replace('$PROVIDER_KEY', PROVIDER_KEY),
    ]),
  );
}

/** A service that a command has started, with the variables that the command sets. */
type Started = { client: Client; given: Record<string, string> };

/** Runs a snippet that ends in `make start`, and waits until the service is ready. */
async function start(t: Test, code: string, upstream: Upstream): Promise<Started> {
  const given = variablesOf(code);
  const folder = mkdtempSync(join(tmpdir(), 'parley-start-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();

  await upstream.reset();
  const [model = 'only-model'] = (given.CHAT_MODEL ?? 'only-model').split(',');
  const served = ['another-model', model.split('=').at(-1)];
  const data = served.map((id) => ({ id, object: 'model', created: 1, owned_by: 'test' }));

  await upstream.configure({ models: { object: 'list', data }, apiKey: given.CHAT_API_KEY ?? null });

  const database = await freshDatabase(given.DATABASE_URL ? 'postgres' : 'embedded');
  t.teardown(() => database.drop());
  writeFileSync(join(folder, 'plans.json'), JSON.stringify({ data: defaultPlans.plans }));

  const guide = readFileSync(join(root, 'docs/guides/several-upstreams.md'), 'utf8');
  const [, upstreams = ''] = /```json\n([^`]*)```/.exec(guide) ?? [];
  const ours = upstreams.replaceAll(/"https?:[^"]*"/g, JSON.stringify(upstream.url));
  writeFileSync(join(folder, 'upstreams.json'), ours);

  // Differences on this machine: the addresses of databases and upstreams, and the free port.
  const origins = ['CHAT_URL', 'IMAGES_URL', 'EMBEDDINGS_URL', 'SEARCH_URL'].flatMap(
    (name) => given[name] ?? [],
  );
  const swaps = [
    ...origins.map((url) => [new URL(url).origin, new URL(upstream.url).origin] as const),
    [given.DATABASE_URL, database.env.DATABASE_URL] as const,
    [given.DATA_DIR, database.env.DATA_DIR] as const,
    [given.PORT && `PORT=${given.PORT}`, `PORT=${port}`] as const,
    [given.PLANS_FILE, join(folder, 'plans.json')] as const,
    [given.UPSTREAMS_FILE, join(folder, 'upstreams.json')] as const,
  ];
  let swapped = code;
  for (const [written, here] of swaps) if (written && here) swapped = swapped.replaceAll(written, here);

  // `ollama pull` has nothing to fetch: the test upstream serves the model.
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/ollama'), '#!/bin/sh\n[ "$1" = pull ]\n');
  chmodSync(join(folder, 'bin/ollama'), 0o755);
  const { NODE_OPTIONS: _, ...own } = process.env; // set by tap to trace the processes of a test
  const shell = spawn('bash', ['-euc', swapped], {
    cwd: root,
    env: {
      ...own,
      PATH: `${join(folder, 'bin')}:${own.PATH}`,
      PROVIDER_KEY,
      HOSTED_KEY: PROVIDER_KEY,
      OLD_SECRET: 'the secret before this one, long enough',
      PORT: String(port),
      ...(given.DATABASE_URL ? {} : database.env),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const ended = once(shell, 'close');
  t.teardown(async () => {
    if (shell.exitCode === null && shell.pid !== undefined) process.kill(-shell.pid, 'SIGTERM');
    await ended;
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    shell.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
      if (said.includes('Parley is running at')) resolve();
    });
    ended.then(() => reject(new Error(`The service did not start:\n${said}`)));
  });

  const origin = `http://127.0.0.1:${port}`;
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenApi;
  return { client: new Client(origin, document), given };
}

/**
 * Starts the service of a snippet, and checks that the settings of the snippet take effect.
 *
 * @param upstream - replaces every third-party server in the snippet
 */
export async function runStart(t: Test, { code }: Snippet, upstream: Upstream): Promise<void> {
  const { client, given } = await start(t, code, upstream);
  for (const name of Object.keys(given))
    t.ok(settings.includes(`\`${name}\``), `${name} is a variable of the service`);
  const { body: service } = await client.get('/service');
  const engine = (url: string | undefined) => (url ? 'upstream' : 'builtin');
  t.match(service, {
    signups: given.SIGNUPS ?? 'open',
    operator_contact: given.OPERATOR_CONTACT ?? null,
    billing: given.PUBLIC_URL ? 'managed' : 'open',
    engine: {
      chat: engine(given.CHAT_URL ?? given.UPSTREAMS_FILE),
      images: engine(given.IMAGES_URL),
      search: engine(given.SEARCH_URL),
    },
  });
  if (given.SIGNUPS === 'closed') return;
  const { key } = await client.createKey(await client.signUp());
  const { body: answer } = await client.post('/chat', { message: 'Are you there?' }, { key });
  if (given.IMAGES_URL)
    t.equal((await client.post('/images/generations', { prompt: 'A sea' }, { key })).status, 200);
  if (given.SEARCH_URL) t.equal((await client.post('/search', { query: 'sea' }, { key })).status, 200);
  const { last } = await upstream.calls();
  const called = (path: string) => last.filter((call) => call.path === path);
  if (given.CHAT_URL) {
    const [first = ''] = (given.CHAT_MODEL ?? '').split(',');
    const model = first.split('=').at(-1);
    t.match(answer, { reply: 'You said: Are you there?' });
    const authorization = given.CHAT_API_KEY && `Bearer ${given.CHAT_API_KEY}`;
    t.match(called(`${new URL(given.CHAT_URL).pathname}/chat/completions`), [
      { body: { model }, headers: { authorization } },
    ]);
  }
  if (given.IMAGES_URL)
    t.match(called(`${new URL(given.IMAGES_URL).pathname}/images/generations`), [
      { body: { model: given.IMAGES_MODEL } },
    ]);
}
