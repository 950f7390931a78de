// Images in the chat: which ones the model receives, with this message and later ones, and which ones are stored.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { purgeDeletedAccounts } from '../../src/store/purge.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const urlOf = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;
const jpegOf = (length: number) =>
  urlOf('image/jpeg', Buffer.alloc(length, 'x').fill('\xff\xd8\xff', 0, 3, 'latin1'));
const gif = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const png = urlOf('image/png', Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1'));
const webp = urlOf('image/webp', Buffer.from('RIFF\x00\x00\x00\x00WEBPrest', 'latin1'));
const jpeg = jpegOf(20);
const MIB = 1024 * 1024;

const targets = [{ upstream: 'a', model: 'test-model' }];
const { env } = upstreamsFile({
  upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
  models: [
    { name: 'sees', targets, capabilities: ['images'] },
    { name: 'undescribed', targets },
    { name: 'blind', targets, capabilities: ['tools'] },
  ],
});

const withImages = (text: string, ...urls: string[]) => [
  { type: 'text', text },
  ...urls.map((url) => ({ type: 'image_url', image_url: { url } })),
];

onEachDatabase(t, env, async (t, { client, database }) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  await client.put('/subscription', { plan: 'pro', billing_period: 'monthly' }, { cookie: owner.cookie });

  /** The response, and the contents of the messages that reached the model. */
  async function ask(body: Body) {
    await upstream.reset();
    const answer = await client.post('/chat', body, { key });
    t.equal(answer.status, 200, answer.text.slice(0, 300));
    const { messages } = (await upstream.onlyCall()).body as { messages: { content: unknown }[] };
    return { ...answer.body, asked: messages.map(({ content }) => content) };
  }
  const used = async () => (await client.get('/usage', { key })).body.used.chat;

  for (const stream of [false, true])
    await t.test(`stream ${stream}: images reach the model with this message and the next one`, async (t) => {
      await upstream.reset();
      const sent = { message: 'Which?', images: [gif, png, webp, jpeg], model: 'sees', stream };
      const answer = await client.post('/chat', sent, { key });
      const { conversation_id } = stream ? answer.body.at(-1).data : answer.body;
      const call = (await upstream.onlyCall()).body as { messages: unknown };
      t.same(call.messages, [{ role: 'user', content: withImages('Which?', gif, png, webp, jpeg) }]);

      const next = await ask({ message: 'And now?', conversation_id, model: 'undescribed' });
      t.same([next.asked[0], next.asked[2]], [withImages('Which?', gif, png, webp, jpeg), 'And now?']);

      const { body } = await client.get(`/conversations/${conversation_id}`, { key });
      t.same(
        body.messages.map(({ images }: Body) => images),
        [
          [
            { type: 'image/gif', size: 42 },
            { type: 'image/png', size: 12 },
            { type: 'image/webp', size: 16 },
            { type: 'image/jpeg', size: 20 },
          ],
          undefined,
          undefined,
          undefined,
        ],
      );
      const path = `/conversations/${conversation_id}/images?message_id=`;
      const [question, reply] = body.messages;
      const kept = await client.get(path + question.id, { key });
      t.same(
        kept.body.data.map(({ url }: Body) => url),
        sent.images,
      );
      t.same((await client.get(path + reply.id, { key })).body, { data: [] });
      t.same((await client.get(path + conversation_id, { key })).body, { data: [] });
      t.match(await client.get(path.slice(0, -12), { key }), {
        status: 400,
        body: { error: { param: 'message_id' } },
      });
    });

  await t.test(
    'POST /chat 400: a model without image support; the conversation can continue without the images',
    async (t) => {
      const { conversation_id } = await ask({ message: 'Look', images: [gif] });
      const before = await used();
      const refused = await client.post('/chat', { message: 'x', images: [gif], model: 'blind' }, { key });
      t.match(refused, {
        status: 400,
        body: { error: { code: 'invalidRequest', param: 'images', reason: 'unsupported_value' } },
      });
      t.equal(await used(), before);
      const next = await ask({ message: 'And now?', conversation_id, model: 'blind' });
      t.same(next.asked, ['Look', 'You said: Look', 'And now?']);
      t.same(next.history, { included: 2, omitted: 0 });
    },
  );

  await t.test(
    'POST /chat 400: invalid images are not charged, and the error gives the index of the image',
    async (t) => {
      const before = await used();
      const wrong: [unknown, string, RegExp][] = [
        ['x', 'images', /images/],
        [Array.from({ length: 9 }, () => gif), 'images', /images/],
        [[gif, 1], 'images.1', /images\.1/],
        [['https://example.com/a.png'], 'images.0', /must be a PNG, JPEG, WebP, or GIF as a `data:` URL/],
        [['data:image/svg+xml;base64,PHN2Zy8+'], 'images.0', /must be a PNG/],
        [[gif, 'data:image/png;base64,####'], 'images.1', /is not valid Base64/],
        [[gif.replace('image/gif', 'image/png')], 'images.0', /is not image\/png/],
        [[jpegOf(2 * MIB), jpegOf(1.2 * MIB)], 'images', /the limit is 4 MiB/],
      ];
      for (const [images, param, message] of wrong) {
        const answer = await client.post('/chat', { message: 'x', images }, { key });
        t.match(answer, { status: 400, body: { error: { code: 'invalidRequest', param, message } } });
      }
      t.equal(await used(), before);
    },
  );

  await t.test('with store: false, images can be larger, and none are stored', async (t) => {
    const large = [jpegOf(2 * MIB), jpegOf(2 * MIB)];
    const count = () => rowsOf(database.db, sql`select from messages where image_urls is not null`);
    const before = await count();
    const { asked, conversation_id } = await ask({ message: 'Large', images: large, store: false });
    t.equal(conversation_id, null);
    t.same(asked, [withImages('Large', ...large)]);
    t.same(await count(), before);
  });

  await t.test('earlier messages with images are sent up to 8 MiB, newest first', async (t) => {
    const images = [jpegOf(2.9 * MIB)];
    const { conversation_id } = await ask({ message: 'one', images });
    for (const message of ['two', 'three']) await ask({ message, images, conversation_id });
    const next = await ask({ message: 'four', conversation_id });
    t.same(next.asked.length, 5, 'two questions of 3.9 MiB with their replies');
    t.same(next.asked[0], withImages('two', ...images));
    t.same(next.history, { included: 4, omitted: 2 });
  });

  await t.test(
    'other keys and accounts cannot read images, and deleting a conversation deletes its images',
    async (t) => {
      const { conversation_id: id } = await ask({ message: 'Mine', images: [gif] });
      const { body } = await client.get(`/conversations/${id}`, { key });
      const path = `/conversations/${id}/images?message_id=${body.messages[0].id}`;
      const other = await client.createKey(owner);
      const stranger = await client.signUp();
      t.equal((await client.get(path, { key: other.key })).status, 404);
      t.equal((await client.get(path, { cookie: stranger.cookie })).status, 404);
      t.equal((await client.get(path, { cookie: owner.cookie })).body.data.length, 1);
      // A conversation of the other account does not give access, either.
      const own = await client.post('/chat', { message: 'x' }, { cookie: stranger.cookie });
      const crossed = path.replace(id, own.body.conversation_id);
      t.same((await client.get(crossed, { cookie: stranger.cookie })).body, { data: [] });

      t.equal((await client.delete(`/conversations/${id}`, { key })).status, 204);
      t.equal((await client.get(path, { key })).status, 404);
      const left = sql`select from messages where conversation_id = ${id}::uuid`;
      t.same(await rowsOf(database.db, left), []);
    },
  );

  await t.test('an idempotency key covers the images', async (t) => {
    const post = (images: string[]) =>
      client.post('/chat', { message: 'Once', images }, { key, headers: { 'idempotency-key': 'images' } });
    const first = await post([gif]);
    const again = await post([gif]);
    t.same(again.body, first.body);
    t.equal(again.headers.get('idempotency-replayed'), 'true');
    t.match(await post([png]), { status: 422, body: { error: { code: 'idempotencyMismatch' } } });
  });

  await t.test('deleting the account deletes its images', async (t) => {
    const leaving = await client.signUp();
    const { cookie } = leaving;
    await client.post('/chat', { message: 'Bye', images: [gif] }, { cookie });
    const count = async () =>
      (await rowsOf(database.db, sql`select from messages where account_id = ${leaving.accountId}::uuid`))
        .length;
    t.equal(await count(), 2);
    const body = { current_password: leaving.password };
    t.equal((await client.delete('/account', { cookie, body })).status, 204);
    await database.db.execute(
      sql`update accounts set deleted_at = now() - interval '5 minutes' where id = ${leaving.accountId}::uuid`,
    );
    await purgeDeletedAccounts(database.db);
    t.equal(await count(), 0);
  });
});

onEachDatabase(t, { ...env, ...plansFile(t, { tokens: 20_000 }) }, async (t, { client }) => {
  await t.test('an image reserves as many tokens on /chat as on /chat/completions', async (t) => {
    const owner = await client.signUp();
    const needed = async (path: string, body: Body) =>
      (await client.post(path, body, { cookie: owner.cookie })).body.error?.limit?.needed;
    const chat = (images: string[]) => needed('/chat', { message: 'x', images, max_output_tokens: 90_000 });
    const [none, one] = [await chat([]), await chat([jpegOf(100_000)])];
    t.ok(one - none > 5000 && one - none < 5200, `${one - none}`);
    const same = await needed('/chat/completions', {
      messages: [{ role: 'user', content: withImages('x', gif) }],
      max_completion_tokens: 90_000,
    });
    t.equal(one, same);
  });
});
