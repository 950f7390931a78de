// Models of UPSTREAMS_FILE: plans, public names, fields, affinity, and reloads.
import t from 'tap';
import { openStream } from '../support/event-reader.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const [a, b] = await Promise.all([startUpstream(), startUpstream()]);
t.teardown(() => Promise.all([a.stop(), b.stop()]));
t.beforeEach(async () => void (await Promise.all([a.reset(), b.reset()])));

const messages = [{ role: 'user', content: 'Hi' }];

t.test(
  "a model that the account's plan does not include is rejected without a charge, and not listed",
  async (t) => {
    const both = several([a, b]);
    const [open] = both.models;
    const closed = { ...open, name: 'closed', plans: ['large'] };
    const rich = { contextTokens: 1000, maxOutputTokens: 100, capabilities: ['tools'], description: 'Rich.' };
    const { env } = upstreamsFile({ ...both, models: [closed, { ...open, ...rich, units: 2 }] });
    onEachDatabase(t, { ...env, ...plansFile(t, { chat: 10 }) }, async (t, { client }) => {
      const owner = await client.signUp();
      const { key } = await client.createKey(owner);
      const { body: list } = await client.get('/models', { key });
      t.strictSame(list.data, [
        {
          ...{ id: 'public', object: 'model', created: 0, owned_by: 'upstream', description: 'Rich.' },
          ...{ context_window: 1000, max_output_tokens: 100, capabilities: ['tools'], units: 2 },
        },
      ]);
      t.match(await client.get('/models/closed', { key }), { status: 404 });
      for (const [path, body] of [
        ['/chat', { message: 'Hi' }],
        ['/chat/completions', { messages }],
        ['/responses', { input: 'Hi' }],
        ['/messages', { messages, max_tokens: 10 }],
        ['/messages/count_tokens', { messages }],
      ] as const)
        for (const stream of path.endsWith('tokens') ? [undefined] : [false, true]) {
          const refused = await client.post(
            path,
            { ...body, model: 'closed', ...(stream && { stream }) },
            { key },
          );
          t.match(refused, { status: 403, body: { error: { code: 'modelNotInPlan' } } }, path);
        }
      t.match((await client.get('/usage', { key })).body, { used: { chat: 0 } });
      t.equal((await a.calls()).chat + (await b.calls()).chat, 0);
      t.match(await client.post('/chat', { message: 'Hi' }, { key }), {
        status: 200,
        body: { model: 'public' },
      });
      t.match((await client.get('/usage', { key })).body, { used: { chat: 2 } });
      t.equal(
        (await client.post('/chat/completions', { model: 'public', messages, n: 5 }, { key })).status,
        429,
        'units are charged per choice',
      );
    });
  },
);

t.test('requests with the same conversation or prompt_cache_key use the same target', async (t) => {
  const { env } = upstreamsFile(several([a, b]));
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const used = async (ask: (turn: number) => Promise<unknown>) => {
      await Promise.all([a.reset(), b.reset()]);
      for (let turn = 0; turn < 6; turn += 1) await ask(turn);
      return [(await a.calls()).chat, (await b.calls()).chat];
    };
    let conversation: string | undefined;
    const inOne = await used(async () => {
      const { body } = await client.post(
        '/chat',
        { message: 'Hi', ...(conversation && { conversation_id: conversation }) },
        { key },
      );
      conversation = body.conversation_id;
    });
    t.same(inOne.sort(), [0, 6]);
    const cached = await used(() =>
      client.post('/chat/completions', { model: 'public', messages, prompt_cache_key: 'k' }, { key }),
    );
    t.same(cached.sort(), [0, 6]);
  });
});

t.test('a field is sent only to upstreams that accept it', async (t) => {
  const file = several([a, b]);
  const [first, second] = file.upstreams;
  const targets = [{ upstream: 'a' }, { upstream: 'b', order: 2 }];
  const { env } = upstreamsFile({
    upstreams: [{ ...first, fields: ['mirostat', 'top_k', 'grammar'] }, second],
    models: [{ name: 'public', targets }],
  });
  onEachDatabase(t, { ...env, ...plansFile(t), CHAT_FIELDS: 'grammar' }, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    await a.configure({ fault: 'status' });
    const body = { model: 'public', messages, mirostat: 2, top_k: 3, grammar: 'g', unknown: 1 };
    const answer = await client.post('/chat/completions', body, { key });
    t.equal(answer.headers.get('x-parley-ignored-fields'), 'unknown');
    t.match((await a.onlyCall()).body, { mirostat: 2, top_k: 3 });
    const sent = (await b.onlyCall()).body as object;
    t.match(sent, { top_k: 3, grammar: 'g' });
    t.notOk('mirostat' in sent);
    t.notOk('unknown' in sent);
  });
});

t.test('reload: open streams continue on their target, and an invalid file changes nothing', async (t) => {
  const file = upstreamsFile(several([a]));
  onEachDatabase(t, { ...file.env, ...plansFile(t) }, async (t, service) => {
    t.teardown(() => file.write(several([a])));
    await Promise.all([a.reset(), b.reset()]);
    const { client } = service;
    const { key } = await client.createKey(await client.signUp());
    await a.configure({ chunks: 40, chunkIntervalMs: 20 });
    const open = await openStream(client, '/chat', { message: 'Hi', stream: true }, { key });
    await open.next();
    file.write({ ...several([b]), models: [{ name: 'renamed', targets: [{ upstream: 'a' }] }] });
    service.reload();
    t.match(await client.post('/chat', { message: 'Hi' }, { key }), {
      status: 200,
      body: { model: 'renamed' },
    });
    t.equal((await b.calls()).chat, 1);
    file.write('{ broken');
    service.reload();
    t.match(await client.post('/chat', { message: 'Hi' }, { key }), {
      status: 200,
      body: { model: 'renamed' },
    });
    t.match((await open.rest()).at(-1), { event: 'done' });
    t.match(await a.calls(), { chat: 1, aborted: 0 });
  });
});
