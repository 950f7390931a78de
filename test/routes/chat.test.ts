import t from 'tap';
import { onEachDatabase } from '../support/service.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

onEachDatabase(t, {}, async (t, { client }) => {
  const owner = await client.signUp();
  const { cookie } = owner;
  const { key } = await client.createKey(owner);

  await t.test('POST /chat 200: replies from the guides and is charged once', async (t) => {
    const answer = await client.post('/chat', { message: 'How do I create a key?' }, { key });
    t.match(answer, {
      status: 200,
      body: { id: uuid, conversation_id: uuid, model: 'parley-builtin', finish_reason: 'stop' },
    });
    t.match(answer.body.reply, /docs\/guides\/keys#create-an-api-key/);
    t.ok(answer.body.usage.input_tokens > 0 && answer.body.usage.output_tokens > 0);
    const usage = await client.get('/usage', { key });
    const { input_tokens: input, output_tokens: output } = answer.body.usage;
    t.match(usage.body.used, { chat: 1, images: 0, search: 0, tokens: input + output });
  });

  await t.test('POST /chat 200: a web session and keys share one quota', async (t) => {
    const answer = await client.post('/chat', { message: 'What is the quota?' }, { cookie });
    t.equal(answer.status, 200);
    t.equal((await client.get('/usage', { key })).body.used.chat, 2);
    t.equal(answer.headers.get('ratelimit-limit'), '50');
    t.equal(answer.headers.get('ratelimit-remaining'), '48');
  });

  await t.test('POST /chat 200: a conversation can be continued, listed, read, and deleted', async (t) => {
    const first = await client.post('/chat', { message: 'Hello\n  there' }, { key });
    const id = first.body.conversation_id;
    const second = await client.post(
      '/chat',
      { message: 'And which models are there?', conversation_id: id },
      { key },
    );
    t.equal(second.body.conversation_id, id);
    const read = await client.get(`/conversations/${id}`, { key });
    t.match(read.body, { id, title: 'Hello there', next_cursor: null });
    t.same(
      read.body.messages.map(({ role }: { role: string }) => role),
      ['user', 'assistant', 'user', 'assistant'],
    );
    t.equal(read.body.messages[3].content, second.body.reply);
    const page = await client.get(`/conversations/${id}?limit=1`, { key });
    t.equal(page.body.messages[0].content, second.body.reply);
    const older = await client.get(`/conversations/${id}?limit=3&cursor=${page.body.next_cursor}`, { key });
    t.equal(older.body.messages.length, 3);
    t.equal(older.body.next_cursor, null);
    t.match((await client.get('/conversations?limit=1', { key })).body.data, [{ id }]);
    t.equal((await client.delete(`/conversations/${id}`, { key })).status, 204);
    t.equal((await client.get(`/conversations/${id}`, { key })).status, 404);
    t.equal((await client.post('/chat', { message: 'x', conversation_id: id }, { key })).status, 404);
  });

  await t.test(
    'GET /conversations/:id 200: a page of long messages ends after half a megabyte',
    async (t) => {
      const words = Array.from({ length: 12 }, (_, index) => `${index} `.padEnd(99_000, '\u0001'));
      let id: string | undefined;
      for (const message of words)
        id = (await client.post('/chat', { message, ...(id && { conversation_id: id }) }, { key })).body
          .conversation_id;
      const seen: string[] = [];
      let cursor: string | null = '';
      for (let pages = 0; cursor !== null; pages += 1) {
        t.ok(pages < 5, 'pagination ends');
        const query = cursor === '' ? '' : `?cursor=${cursor}`;
        const { body } = await client.get(`/conversations/${id}${query}`, { key });
        const contents = body.messages.map(({ content }: { content: string }) => content);
        t.ok(contents.join('').length < 700_000, `${contents.length} messages`);
        t.ok(contents.every((content: string) => content !== ''));
        seen.unshift(...contents);
        cursor = body.next_cursor;
      }
      t.equal(seen.length, 24, 'every message is listed once');
      t.same(
        seen.filter((_, index) => index % 2 === 0),
        words,
      );
    },
  );

  await t.test('POST /chat 200: store: false stores nothing', async (t) => {
    const before = (await client.get('/conversations', { cookie })).body.data.length;
    const answer = await client.post('/chat', { message: 'Hello', store: false }, { key });
    t.match(answer, { status: 200, body: { conversation_id: null } });
    t.equal((await client.get('/conversations', { cookie })).body.data.length, before);
  });

  await t.test(
    "GET /conversations: a key sees its own, the web sees all of the account's, and no other account sees any",
    async (t) => {
      const second = await client.createKey(owner, { name: 'Second' });
      const { body } = await client.post('/chat', { message: 'Mine' }, { key: second.key });
      const id = body.conversation_id;
      t.equal((await client.get(`/conversations/${id}`, { key })).status, 404);
      t.equal((await client.delete(`/conversations/${id}`, { key })).status, 404);
      t.equal((await client.post('/chat', { message: 'x', conversation_id: id }, { key })).status, 404);
      t.same(
        (await client.get('/conversations', { key: second.key })).body.data.map(
          (one: { id: string }) => one.id,
        ),
        [id],
      );
      t.match((await client.get(`/conversations/${id}`, { cookie })).body, { id, key_id: second.id });
      const stranger = await client.signUp();
      t.equal((await client.get(`/conversations/${id}`, { cookie: stranger.cookie })).status, 404);
      t.same((await client.get('/conversations', { cookie: stranger.cookie })).body.data, []);
    },
  );

  await t.test('GET /conversations 200: pages list every conversation once', async (t) => {
    const all = (await client.get('/conversations?limit=100', { cookie })).body.data.map(
      (one: { id: string }) => one.id,
    );
    const paged: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body } = await client.get(`/conversations?limit=1${cursor && `&cursor=${cursor}`}`, { cookie });
      paged.push(...body.data.map((one: { id: string }) => one.id));
      cursor = body.next_cursor;
    }
    t.same(paged, all);
    t.ok(all.length > 2);
    t.match(await client.get('/conversations?cursor=AAAA', { cookie }), {
      status: 400,
      body: { error: { param: 'cursor' } },
    });
    t.equal((await client.get('/conversations?unknown=1', { cookie })).status, 400);
  });

  await t.test('POST /chat: invalid input is rejected without a charge', async (t) => {
    const before = (await client.get('/usage', { key })).body.used.chat;
    const wrong: [unknown, number, string][] = [
      [{}, 400, 'message'],
      [{ message: '' }, 400, 'message'],
      [{ message: 'x'.repeat(100_001) }, 400, 'message'],
      [{ message: 1 }, 400, 'message'],
      [{ message: 'x', temperature: 3 }, 400, 'temperature'],
      [{ message: 'x', temperature: '1' }, 400, 'temperature'],
      [{ message: 'x', max_output_tokens: 0 }, 400, 'max_output_tokens'],
      [{ message: 'x', store: 'false' }, 400, 'store'],
      [{ message: 'x', surprise: true }, 400, 'surprise'],
      [{ message: 'x', model: 'nope' }, 404, 'model'],
      [{ message: 'x', conversation_id: 'nope' }, 400, 'conversation_id'],
      [{ message: 'x', conversation_id: '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f' }, 404, 'conversation_id'],
    ];
    for (const [body, status, param] of wrong) {
      t.match(
        await client.post('/chat', body, { key }),
        { status, body: { error: { param } } },
        JSON.stringify(body).slice(0, 60),
      );
    }
    t.equal((await client.get('/usage', { key })).body.used.chat, before);
  });
});
