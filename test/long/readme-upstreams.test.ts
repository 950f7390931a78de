/** The README's commands for chat upstreams run as they stand there, but for the upstream's address. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { Client, type OpenApi } from '../support/http.ts';
import { freshDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What a reader's shell is to hold where a command names a variable of theirs. */
const PROVIDER_KEY = 'provider-key-0123456789';

/** A command, and the variables that it sets. */
type Recipe = { command: string; set: Record<string, string> };

/** The commands that set `CHAT_URL`, in fenced blocks for bash; one may go over several lines. */
function recipesIn(markdown: string): Recipe[] {
  const blocks = [...markdown.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const commands = blocks.flatMap((block) => block.replace(/\\\n\s*/g, '').split('\n'));
  return commands
    .filter((command) => /\bCHAT_URL=/.test(command))
    .map((command) => {
      const pairs = [...command.matchAll(/\b([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [
        name,
        value.replaceAll('"', '').replace('$PROVIDER_KEY', PROVIDER_KEY),
      ]);
      return { command, set: Object.fromEntries(pairs) };
    });
}

/**
 * Runs a command in the checkout that ends in `make start`, on a database of its own.
 *
 * @returns where it serves
 */
async function startByCommand(t: Test, command: string): Promise<string> {
  const database = await freshDatabase('embedded');
  const { NODE_OPTIONS: _, ...env } = process.env; // tap's, to follow the processes of a test
  const shell = spawn('bash', ['-c', command], {
    cwd: root,
    env: { ...env, ...database.env, PORT: '0', PROVIDER_KEY },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const ended = once(shell, 'close');
  t.teardown(async () => {
    if (shell.exitCode === null && shell.pid !== undefined) process.kill(-shell.pid, 'SIGTERM');
    await ended;
    await database.drop();
  });
  let said = '';
  return new Promise((resolve, reject) => {
    shell.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
      const [, port] = /serves at http:\/\/localhost:(\d+)/.exec(said) ?? [];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    ended.then(() => reject(new Error(`It did not start:\n${said}`)));
  });
}

const recipes = recipesIn(readFileSync(new URL('../../README.md', import.meta.url), 'utf8'));

t.test('README has commands for Ollama, for vLLM or llama.cpp, and for a hosted provider', async (t) => {
  const urls = recipes.map(({ set }) => new URL(set.CHAT_URL ?? ''));
  t.ok(
    urls.some(({ port }) => port === '11434'),
    'Ollama',
  );
  t.ok(
    urls.some(({ port }) => port === '8000' || port === '8080'),
    'vLLM or llama.cpp',
  );
  t.ok(
    urls.some(({ protocol }) => protocol === 'https:'),
    'a hosted provider',
  );
});

for (const { command, set } of recipes) {
  const { CHAT_API_KEY: apiKey, CHAT_MODEL: model = 'only-model', CHAT_URL: url = '' } = set;
  t.test(`README: \`${command}\` chats through the upstream`, async (t) => {
    const upstream = await startUpstream();
    t.teardown(() => upstream.stop());
    // Another model comes first: the one that was named must be asked for.
    const served = [...(set.CHAT_MODEL ? ['another-model'] : []), model];
    const data = served.map((id) => ({ id, object: 'model', created: 1, owned_by: 'test' }));
    await upstream.configure({ models: { object: 'list', data }, apiKey: apiKey ?? null });
    const origin = await startByCommand(
      t,
      command.replaceAll(new URL(url).origin, new URL(upstream.url).origin),
    );

    const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenApi;
    const client = new Client(origin, document);
    const { key } = await client.createKey(await client.signUp());
    const answer = await client.post('/chat', { message: 'Are you there?' }, { key });
    t.match(answer, { status: 200, body: { reply: 'You said: Are you there?', model } });
    if (set.IMAGES_URL !== undefined)
      t.equal((await client.post('/images/generations', { prompt: 'A sea' }, { key })).status, 200);

    const { last } = await upstream.calls();
    const called = (path: string) => last.filter((call) => call.path === new URL(url).pathname + path);
    const authorization = apiKey && `Bearer ${apiKey}`;
    t.match(called('/chat/completions'), [{ body: { model }, headers: { authorization } }]);
    if (set.IMAGES_URL !== undefined)
      t.match(called('/images/generations'), [{ body: { model: set.IMAGES_MODEL } }]);
  });
}
