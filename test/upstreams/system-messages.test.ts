// Later system messages, such as those of Claude Code, reach models that accept only an initial one. Contract section 15.
import t from 'tap';
import { reminderOf } from '../../src/engines/system-messages.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import { anthropicMessage, type WireCall, wireServer } from '../support/upstream/wire.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const said = (role: string, content: unknown) => ({ role, content });
const later = [
  said('user', 'Hi'),
  said('system', 'It is late.'),
  said('assistant', 'Hello.'),
  said('system', 'It is later.'),
  said('user', 'Bye'),
];
const expected = [
  said('user', `Hi\n\n${reminderOf('It is late.')}`),
  said('assistant', 'Hello.'),
  said('user', `${reminderOf('It is later.')}\n\nBye`),
];
const first = said('system', 'Be brief.');

const bodies: Record<string, Body> = {
  '/chat/completions': { messages: [first, ...later] },
  '/responses': { instructions: 'Be brief.', input: later, store: false },
  '/messages': { max_tokens: 99, system: 'Be brief.', messages: later },
};

const completion = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'theirs' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Bye.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

/** The errors of servers whose chat template rejects a later system message. */
const refusals: Record<string, [status: number, body: object]> = {
  vLLM: [
    400,
    { object: 'error', message: 'System message must be at the beginning.', type: 'BadRequestError' },
  ],
  'vLLM with Mistral': [
    400,
    {
      error: {
        message:
          'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
      },
    },
  ],
  'llama.cpp': [
    500,
    { error: { code: 500, message: 'Jinja Exception: System message must be at the beginning.' } },
  ],
  Mistral: [400, { object: 'error', message: "Unexpected role 'system' after role 'user'", code: 3230 }],
};

const isLater = ({ role }: Body, index: number) => role === 'system' && index > 0;
const alternates = (messages: Body[]) =>
  messages.slice(1).every(({ role }, index) => role === (index % 2 === 0 ? 'user' : 'assistant'));

t.test('a model that accepts only an initial system message gets later ones in user messages', async (t) => {
  const calls: Record<string, WireCall[]> = {};
  const servers = await Promise.all(
    Object.entries(refusals).map(async ([name, [status, body]]) => {
      const server = await wireServer(t, ({ body: { messages } }) =>
        messages.some(isLater) || !alternates(messages) ? { status, body } : { body: completion },
      );
      calls[name] = server.calls;
      return { name, url: server.url };
    }),
  );
  const { env } = upstreamsFile({
    upstreams: servers.map(({ url }, index) => ({ name: `server-${index}`, kind: 'openai', url })),
    models: servers.map(({ name }, index) => ({
      name,
      targets: [{ upstream: `server-${index}`, model: 'their-model' }],
    })),
  });
  onEachDatabase(t, env, async (t, { client }) => {
    for (const { name } of servers) {
      const { key } = await client.createKey(await client.signUp());
      const sent = calls[name] ?? [];
      sent.length = 0;
      for (const [path, body] of Object.entries(bodies)) {
        const answer = await client.post(path, { ...body, model: name }, { key });
        t.equal(answer.status, 200, `${name} ${path}: ${answer.text}`);
        t.same(sent.at(-1)?.body.messages, [first, ...expected], `${name} ${path}`);
      }
      // Each service remembers the rejection.
      t.equal(sent.length, 4, `${name}: only the first request is retried`);
      t.equal(
        (await client.get('/usage', { key })).body.used.chat,
        3,
        `${name}: each request is charged once`,
      );
    }
  });
});

t.test('a server that accepts later system messages gets them unchanged', async (t) => {
  const { calls, url } = await wireServer(t, () => ({ body: completion }));
  const { env } = upstreamsFile({
    upstreams: [{ name: 'server', kind: 'openai', url }],
    models: [{ name: 'model', targets: [{ upstream: 'server', model: 'their-model' }] }],
  });
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    for (const [path, body] of Object.entries(bodies)) {
      await client.post(path, { ...body, model: 'model' }, { key });
      t.same(calls.at(-1)?.body.messages, [first, ...later], path);
    }
  });
});

t.test('Anthropic gets later system messages of other APIs in place, as user messages', async (t) => {
  const { calls, url } = await wireServer(t, () => ({ body: anthropicMessage }));
  const { env } = upstreamsFile({
    upstreams: [{ name: 'server', kind: 'anthropic', url }],
    models: [{ name: 'model', targets: [{ upstream: 'server', model: 'their-model' }] }],
  });
  const text = (value: string) => ({ type: 'text', text: value });
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    for (const path of ['/chat/completions', '/responses']) {
      await client.post(path, { ...bodies[path], model: 'model' }, { key });
      const { messages, system } = calls.at(-1)?.body ?? {};
      t.equal(system, 'Be brief.', path);
      t.same(
        messages,
        [
          said('user', [text('Hi'), text(reminderOf('It is late.'))]),
          said('assistant', [text('Hello.')]),
          said('user', [text(reminderOf('It is later.')), text('Bye')]),
        ],
        path,
      );
    }
    await client.post('/messages', { ...bodies['/messages'], model: 'model' }, { key });
    t.same(calls.at(-1)?.body.messages, later, 'system messages of the Messages API pass through');
  });
});
