// Every sample in the API reference, in every language, runs against the service. Only its example IDs are replaced.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { operationsOf } from '../../src/docs/api-document.ts';
import { openStream } from '../support/event-reader.ts';
import type { Client, Owner } from '../support/http.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { startTestService } from '../support/service.ts';
import { startUpstream, type Upstream } from '../support/upstream/client.ts';

const run = promisify(execFile);
const languages = ['curl', 'JavaScript', 'Python'] as const;
type Language = (typeof languages)[number];

t.setTimeout(1_800_000);

/** Makes curl print the status after the response; the other samples print it themselves. */
const interpreters: Record<
  Language,
  (file: string, source: string) => [program: string, args: string[], text: string]
> = {
  curl: (file, source) => ['sh', [file], source.replace('curl -sS', "curl -sS -w '\\n%{http_code}\\n'")],
  JavaScript: (file, source) => [process.execPath, [`${file}.mjs`], source],
  Python: (file, source) => ['python3', [file], source],
};

type Furnished = { owner: Owner; ids: Record<string, string> };

/** An account with a webhook, and one of each resource that an operation takes the ID of. */
async function furnish(client: Client, owner: Owner): Promise<Record<string, string>> {
  const { cookie } = owner;
  await client.put('/webhook', { url: 'https://hooks.example.com' }, { cookie });
  const { id: keyId } = await client.createKey({ cookie });
  const rotated = await client.post(`/keys/${keyId}/rotate`, { grace_seconds: 3600 }, { cookie });
  const { key } = rotated.body;
  const { body: reply } = await client.post('/chat', { message: 'What is a scope?' }, { key });
  const { body: response } = await client.post('/responses', { input: 'What is a scope?' }, { key });
  const { body: sessions } = await client.get('/sessions', { cookie });
  const { body: models } = await client.get('/models', { key });
  const other = await client.signUp();
  const { key_prefix: prefix } = await client.createKey(other);
  return {
    prefix,
    'operator/accounts': other.accountId,
    key,
    keys: keyId,
    responses: response.id,
    conversations: reply.conversation_id,
    sessions: sessions.data[0].id,
    models: models.data[0].id,
  };
}

/** Starts replies that the samples can stop. Returns their IDs. */
async function beginSlowly(client: Client, key: string, upstream: Upstream): Promise<Record<string, string>> {
  await upstream.configure({ chunks: 40, chunkIntervalMs: 500 });
  const headers = { 'idempotency-key': '5e3f3a52-7c0b-4b1c-9a55-0d6a1f8c7f11' };
  const chat = await openStream(client, '/chat', { message: 'Hi', stream: true }, { key, headers });
  const response = await openStream(client, '/responses', { input: 'Hi', stream: true }, { key });
  return {
    chat: (await chat.next())?.data.id,
    responses: (await response.next())?.data.response.id,
  };
}

async function statusOf(t: Test, language: Language, source: string, owner: Owner, key: string) {
  const folder = t.testdir();
  const [name, value] = owner.cookie.split(/=(.*)/);
  await writeFile(join(folder, 'cookies.txt'), `localhost\tFALSE\t/\tFALSE\t0\t${name}\t${value}\n`);
  const [program, args, text] = interpreters[language](join(folder, 'sample'), source);
  await writeFile(args[0] ?? '', text);
  const env = { ...process.env, PARLEY_KEY: key, PARLEY_COOKIE: owner.cookie };
  const { stdout } = await run(program, args, { cwd: folder, env, maxBuffer: 50_000_000 });
  const found = language === 'curl' ? /(\d{3})\n$/.exec(stdout) : /^(\d{3})/.exec(stdout);
  return Number(found?.[1]);
}

t.test('samples run', { skip: !existsSync('/usr/bin/python3') && 'python3 is not installed' }, async (t) => {
  const service = await startTestService(t, 'embedded', { BILLING: 'open', ...operatorEnv });
  const { app } = service;
  const { body: document } = await service.client.get('//docs/openapi.json');
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  // For operations that cancel an in-flight request.
  const slow = await startTestService(t, 'embedded', { CHAT_URL: upstream.url, ...operatorEnv });
  const origin = String(app.config.publicUrl);
  const beginIn = async (asked: typeof service, path: string): Promise<Furnished> => {
    const owner = await (path.includes('/operator/') ? signInOperator(asked) : asked.client.signUp());
    return { owner, ids: await furnish(asked.client, owner) };
  };
  /** For read-only operations. */
  const shared = { operator: beginIn(service, '/operator/'), owner: beginIn(service, '/') };

  for (const { method, operationId, path, responses } of operationsOf(app.swagger())) {
    await t.test(`${method} ${path}`, async (t) => {
      const success = Object.keys(responses).filter((status) => status.startsWith('2'));
      const asked = operationId.startsWith('cancel') ? slow : service;
      const { client, port } = asked;
      for (const language of languages) {
        await upstream.reset();
        const { owner, ids: found } = await (method === 'GET'
          ? shared[path.includes('/operator/') ? 'operator' : 'owner']
          : beginIn(asked, path));
        const { key = '', ...ids } = found;
        if (client === slow.client) Object.assign(ids, await beginSlowly(client, key, upstream));
        const samples = document.paths[path][method.toLowerCase()]['x-codeSamples'];
        const { source } = samples.find(({ label }: { label: string }) => label === language);
        const [noun = ''] = path.replace('/api/v1/', '').split('/{');
        const isNewAddress = ['signUp', 'updateAccount', 'createAccount'].includes(operationId);
        const here = source
          .replaceAll(origin, `http://localhost:${port}`)
          .replace(new RegExp(`(/${noun}/)(?:resp_\\w{32}|[\\w-]{36})`), `$1${ids[noun]}`)
          .replace('parley_4Fq0ZkT9', ids.prefix ?? '')
          .replace(/[\w.-]+@[\w.-]+/, isNewAddress ? `${operationId}-${language}@example.com` : owner.email)
          .replace('correct horse battery', owner.password);
        const status = await statusOf(t, language, here, owner, key);
        t.ok(success.includes(String(status)), `${language}: ${status}`);
      }
    });
  }
});
