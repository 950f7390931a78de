// The README's example configurations, as variables and as an equivalent file, with the URL of the test upstream.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const blocks = [...readme.matchAll(/```bash\n([^`]*CHAT_URL[^`]*make start)\n```/g)].map(
  ([, command = '']) => command,
);

/** The variables that a command sets. */
const variablesOf = (command: string): Record<string, string> =>
  Object.fromEntries(
    [...command.matchAll(/\b([A-Z_]+)=("[^"]*"|\S+)/g)].map(([, name, value = '']) => [
      name,
      value.replaceAll('"', '').replace('$PROVIDER_KEY', 'sk-provider'),
    ]),
  );

t.equal(blocks.length, 3, 'Ollama; vLLM or llama.cpp; a hosted provider');

type Env = Record<string, string>;

/** The same configuration as a file. */
function fileOf(given: Env): Env {
  const { CHAT_API_KEY, CHAT_MODEL = '', IMAGES_API_KEY, IMAGES_MODEL } = given;
  const upstreamOf = (name: string, key: string | undefined) => ({
    ...{ name, kind: 'openai', url: upstream.url },
    ...(key && { keyVariable: `${name}_KEY` }),
  });
  const { env } = upstreamsFile({
    upstreams: [
      upstreamOf('CHAT', CHAT_API_KEY),
      ...(given.IMAGES_URL ? [upstreamOf('IMAGES', IMAGES_API_KEY)] : []),
    ],
    models: [
      { name: CHAT_MODEL, targets: [{ upstream: 'CHAT' }] },
      ...(IMAGES_MODEL ? [{ name: IMAGES_MODEL, task: 'images', targets: [{ upstream: 'IMAGES' }] }] : []),
    ],
  });
  return {
    ...env,
    ...(CHAT_API_KEY && { CHAT_KEY: CHAT_API_KEY }),
    ...(IMAGES_API_KEY && { IMAGES_KEY: IMAGES_API_KEY }),
  };
}

for (const command of blocks) {
  const given = variablesOf(command);
  const urls = { CHAT_URL: upstream.url, ...(given.IMAGES_URL && { IMAGES_URL: upstream.url }) };
  for (const [how, env] of [
    ['configured by variables', { ...given, ...urls }],
    ['configured by a file', fileOf(given)],
  ] as const)
    t.test(`README: ${given.CHAT_URL} ${given.CHAT_MODEL} works, ${how}`, async (t) => {
      t.match(given.CHAT_URL, /\/v1$/);
      const { client } = await startTestService(t, 'postgres', env);
      const { key } = await client.createKey(await client.signUp());
      t.match((await client.get('/service')).body.engine, {
        chat: 'upstream',
        default_model: given.CHAT_MODEL,
        images: given.IMAGES_URL ? 'upstream' : 'builtin',
      });
      const whole = await client.post('/chat', { message: 'Hello' }, { key });
      t.match(whole.body, { model: given.CHAT_MODEL, reply: 'You said: Hello' });
      const streamed = await client.post('/chat', { message: 'Hello', stream: true }, { key });
      t.match(streamed.body.at(-1), { event: 'done', data: { reply: 'You said: Hello' } });
      const call = (await upstream.calls()).last.at(-1);
      t.match(call?.body, { model: given.CHAT_MODEL });
      t.equal(call?.headers.authorization, given.CHAT_API_KEY && `Bearer ${given.CHAT_API_KEY}`);
      if (!given.IMAGES_URL) return;
      t.equal((await client.post('/images/generations', { prompt: 'A boat' }, { key })).status, 200);
      const pictured = (await upstream.calls()).last.at(-1);
      t.match(pictured?.body, { model: given.IMAGES_MODEL });
      t.equal(pictured?.headers.authorization, given.IMAGES_API_KEY && `Bearer ${given.IMAGES_API_KEY}`);
    });
}
