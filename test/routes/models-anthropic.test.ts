// The list of models in Anthropic's format, and aliases. Contract sections 13 and 14.
import t from 'tap';
import type { ServerEvent } from '../support/event-reader.ts';
import type { Answer, Body, Client } from '../support/http.ts';
import { askMessage, user } from '../support/messages.ts';
import { onEachDatabase } from '../support/service.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';

const version = { 'anthropic-version': '2023-06-01' };

/** Skips validation: the OpenAPI document describes only responses to clients without the header. */
async function get(client: Client, path: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(`${client.origin}/api/v1${path}`, { headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Body };
}

onEachDatabase(t, { CHAT_MODEL_ALIASES: 'fast=model-2' }, async (t, { app, client }) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const { chat } = app.engines;
  const models = Array.from({ length: 25 }, (_, index) => ({
    id: `model-${index}`,
    object: 'model' as const,
    created: index === 0 ? 1_763_596_800 : index === 1 ? Number.MAX_SAFE_INTEGER : 0,
    owned_by: 'x',
  }));
  chat.models = async () => models;
  const ask = (path: string, headers: Record<string, string> = {}) =>
    get(client, path, { ...version, 'x-api-key': key, ...headers });
  const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: { id: string }) => id);
  const names = (from: number, to: number) => models.slice(from, to).map(({ id }) => id);

  await t.test("GET /models 200: has Anthropic's format", async (t) => {
    const answer = await ask('/models?limit=2');
    t.same(answer.body, {
      data: [
        { type: 'model', id: 'model-0', display_name: 'model-0', created_at: '2025-11-20T00:00:00.000Z' },
        { type: 'model', id: 'model-1', display_name: 'model-1', created_at: '1970-01-01T00:00:00.000Z' },
      ],
      has_more: true,
      first_id: 'model-0',
      last_id: 'model-1',
    });
    t.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'));
    t.match(answer.headers.get('content-type'), /^application\/json/);
    t.same((await get(client, '/models?limit=2', { ...version, cookie: owner.cookie })).body, answer.body);
    t.same(
      (await get(client, '/models?limit=2', { ...version, authorization: `Bearer ${key}` })).body,
      answer.body,
    );
  });

  await t.test('GET /models 200: paginates in both directions', async (t) => {
    const all = [...names(0, 25), 'fast'];
    t.match(await ask('/models'), { body: { has_more: true, last_id: 'model-19' } });
    t.same(idsOf(await ask('/models?limit=1000')), all);
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const answer = await ask(`/models?limit=10${after}`);
      seen.push(...idsOf(answer));
      if (!answer.body.has_more) break;
      after = `&after_id=${answer.body.last_id}`;
    }
    t.same(seen, all);
    const before = await ask('/models?limit=3&before_id=model-5');
    t.same([idsOf(before), before.body.has_more], [names(2, 5), true]);
    t.equal(
      (await ask('/models?limit=2&before_id=model-3')).body.has_more,
      true,
      'more models before the page',
    );
    const first = await ask('/models?before_id=model-2');
    t.same([idsOf(first), first.body.has_more], [names(0, 2), false]);
    const none = await ask('/models?after_id=fast');
    t.same(none.body, { data: [], has_more: false, first_id: null, last_id: null });
  });

  await t.test("GET /models 400: invalid pagination returns an error in Anthropic's format", async (t) => {
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=x', 'limit'],
      ['after_id=nobody', 'after_id'],
      ['before_id=nobody', 'before_id'],
      ['after_id=model-1&before_id=model-2', 'before_id'],
      ['color=red', 'color'],
    ] as const)
      t.match(
        await ask(`/models?${query}`),
        { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', param } } },
        query,
      );
  });

  await t.test("GET /models/{id}: returns the model, or an error in Anthropic's format", async (t) => {
    t.same((await ask('/models/model-0')).body, {
      type: 'model',
      id: 'model-0',
      display_name: 'model-0',
      created_at: '2025-11-20T00:00:00.000Z',
    });
    for (const path of ['/models/nobody', '/models/no/body'])
      t.match(await ask(path), {
        status: 404,
        body: { type: 'error', error: { type: 'not_found_error', code: 'notFound', param: 'model' } },
      });
    t.match(await ask('/models', { 'x-api-key': 'nonsense', cookie: owner.cookie }), {
      status: 401,
      body: { type: 'error', error: { type: 'authentication_error', code: 'invalidApiKey' } },
    });
    t.match(await get(client, '/models', version), {
      status: 401,
      body: { type: 'error', error: { message: /x-api-key/ } },
    });
  });

  await t.test("without the header, responses have OpenAI's format", async (t) => {
    t.match((await client.get('/models', { key })).body, { object: 'list', data: [{ object: 'model' }] });
    for (const query of ['limit=2', 'after_id=model-1', 'before_id=model-1'])
      t.match(await client.get(`/models?${query}`, { key }), {
        status: 400,
        body: {
          error: {
            code: 'invalidRequest',
            message: /is not a known field/,
            param: query.split('=')[0],
            request_id: String,
          },
        },
      });
    const answer = await client.get('/models', { headers: { 'x-api-key': key } });
    t.equal(answer.status, 401);
    t.equal(answer.headers.get('request-id'), null);
  });

  await t.test('HEAD /api/hello 404: a request that Claude Code may send first', async (t) => {
    t.equal((await fetch(`${client.origin}/api/hello`, { method: 'HEAD', headers: version })).status, 404);
  });
});

t.test('CHAT_MODEL_ALIASES maps other names to models', async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const env = {
    CHAT_URL: upstream.url,
    CHAT_MODEL: `${MODEL},other,claude-own`,
    CHAT_MODEL_ALIASES: `claude-*=other,claude-opus*=${MODEL},claude-opus-4=claude-own,fast=other,gone=nobody,${MODEL}=other`,
  };
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());

    await t.test(
      'an exact alias takes precedence over the longest prefix, and model names take precedence over aliases',
      async (t) => {
        for (const [model, resolved] of [
          ['claude-haiku', 'other'],
          ['claude-opus-4-5', MODEL],
          ['claude-opus-4', 'claude-own'],
          ['claude-own', 'claude-own'],
          ['fast', 'other'],
          [MODEL, MODEL],
        ] as const) {
          const message = await client.post('/messages', askMessage({ model }), { key });
          const chat = await client.post('/chat', { message: 'Hi', model }, { key });
          const completion = await client.post(
            '/chat/completions',
            { model, messages: [user('Hi')] },
            { key },
          );
          const streamed = await client.post('/messages', askMessage({ model, stream: true }), { key });
          const events: ServerEvent[] = streamed.body;
          t.same(
            [message.body.model, chat.body.model, completion.body.model, events[0]?.data.message.model],
            [resolved, resolved, resolved, resolved],
            model,
          );
          t.equal((await client.get(`/models/${model}`, { key })).body.id, resolved);
          const { last } = await upstream.calls();
          t.equal((last.at(-1)?.body as { model?: string } | undefined)?.model, resolved);
        }
      },
    );

    await t.test('404 notFound: an alias of a model that does not exist', async (t) => {
      for (const model of ['gone', 'gpt-5'])
        t.match(await client.post('/messages', askMessage({ model }), { key }), {
          status: 404,
          body: { error: { code: 'notFound', param: 'model' } },
        });
    });

    await t.test('GET /models 200: lists exact aliases of existing models after the models', async (t) => {
      const expected = [MODEL, 'other', 'claude-own', 'claude-opus-4', 'fast'];
      const ids = (answer: Answer) => answer.body.data.map(({ id }: { id: string }) => id);
      t.same(ids(await client.get('/models', { key })), expected);
      t.same(ids(await get(client, '/models', { ...version, 'x-api-key': key })), expected);
    });
  });
});
