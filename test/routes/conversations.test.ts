// Pinning, renaming, settings, and search of conversations.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../src/database/client.ts';
import type { Body, Client } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const env = { CHAT_URL: upstream.url, CHAT_MODEL: 'test=test-model' };

/** Creates conversations with one message each, the most recently updated first. */
async function fill(db: Db, accountId: string, contents: readonly string[], keyId: string | null = null) {
  const ids: string[] = [];
  for (const [index, content] of contents.entries()) {
    const id = uuidv7();
    ids.push(id);
    const at = new Date(Date.now() - 60_000 - index * 1000).toISOString();
    await db.execute(sql`
      insert into conversations (account_id, id, key_id, title, created_at, updated_at)
      values (${accountId}::uuid, ${id}::uuid, ${keyId}::uuid, ${`Title ${index}`}, ${at}::timestamptz, ${at}::timestamptz)`);
    await db.execute(sql`
      insert into messages (account_id, conversation_id, id, position, role, content, created_at)
      values (${accountId}::uuid, ${id}::uuid, ${uuidv7()}::uuid, 1, 'user', ${content}, ${at}::timestamptz)`);
  }
  return ids;
}

async function readAll(client: Client, cookie: string, query: string): Promise<Body[]> {
  const rows: Body[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer: Body = await client.get(`/conversations?${query}${cursor && `&cursor=${cursor}`}`, {
      cookie,
    });
    if (answer.status !== 200) throw new Error(answer.text);
    rows.push(...answer.body.data);
    cursor = answer.body.next_cursor;
  }
  return rows;
}

t.test('conversations', async (t) =>
  onEachDatabase(t, env, async (t, { app, client }) => {
    await t.test('pinned conversations come first on every page, and old cursors still work', async (t) => {
      const { accountId, cookie } = await client.signUp();
      const ids = await fill(
        app.db,
        accountId,
        Array.from({ length: 7 }, (_, index) => `message ${index}`),
      );
      const order = async (limit: number) =>
        (await readAll(client, cookie, `limit=${limit}`)).map(({ id }) => id);
      t.same(await order(3), ids);
      const [first = '', , , , fifth = '', sixth = ''] = ids;
      for (const id of [fifth, sixth]) {
        const changed = await client.patch(`/conversations/${id}`, { pinned: true }, { cookie });
        t.match(changed, { status: 200, body: { id, pinned: true } });
      }
      const expected = [fifth, sixth, ...ids.filter((id) => id !== fifth && id !== sixth)];
      for (const limit of [1, 2, 3, 100]) t.same(await order(limit), expected, `pages of ${limit}`);
      const [second] = (await client.get('/conversations?limit=4', { cookie })).body.data.slice(-1);
      const old = Buffer.from(`${second.updated_at}|${second.id}`).toString('base64url');
      const rest = await client.get(`/conversations?cursor=${old}`, { cookie });
      t.same(
        rest.body.data.map(({ id }: Body) => id),
        expected.slice(4),
      );
      await client.patch(`/conversations/${fifth}`, { pinned: false }, { cookie });
      t.same(await order(100), [sixth, first, ...expected.slice(3, 6), fifth, ...expected.slice(6)]);
    });

    await t.test('PATCH changes only the fields sent, and only for the owner', async (t) => {
      const owner = await client.signUp();
      const { accountId, cookie } = owner;
      const { key } = await client.createKey(owner);
      const [id = ''] = await fill(app.db, accountId, ['mine']);
      const change = (body: object, options: object = { cookie }) =>
        client.patch(`/conversations/${id}`, body, options);
      const before = (await client.get(`/conversations/${id}`, { cookie })).body;
      t.match(before, { title: 'Title 0', pinned: false, instructions: null, temperature: null });
      t.match((await change({ title: '  Keys ' })).body, { title: 'Keys', updated_at: before.updated_at });
      t.match((await change({ instructions: 'Be brief.', temperature: 0 })).body, {
        title: 'Keys',
        temperature: 0,
      });
      t.match((await change({})).body, { title: 'Keys', instructions: 'Be brief.' });
      t.match((await change({ temperature: null })).body, { instructions: 'Be brief.', temperature: null });
      for (const body of [
        { title: '' },
        { title: ' ' },
        { title: null },
        { pinned: 'yes' },
        { temperature: 3 },
        { color: 1 },
      ])
        t.equal((await change(body)).status, 400, JSON.stringify(body));
      t.equal((await change({ title: 'x' }, { key })).status, 404, 'a key sees only its own conversations');
      const stranger = await client.signUp();
      t.equal((await change({ title: 'x' }, { cookie: stranger.cookie })).status, 404);
      t.equal((await client.get(`/conversations/${id}`, { cookie })).body.title, 'Keys');
    });

    await t.test("replies use the conversation's settings, unless the request overrides them", async (t) => {
      const owner = await client.signUp();
      const { key } = await client.createKey(owner);
      const ask = async (body: object): Promise<Body> => {
        await upstream.reset();
        const answer = await client.post('/chat', { message: 'Hi', ...body }, { key });
        t.equal(answer.status, 200, answer.text);
        return { reply: answer.body, asked: (await upstream.onlyCall()).body };
      };
      const { conversation_id } = (await ask({})).reply;
      const settings = { instructions: 'Be brief.', temperature: 0.25 };
      t.equal((await client.patch(`/conversations/${conversation_id}`, settings, { key })).status, 200);
      const { asked } = await ask({ conversation_id });
      t.match(asked, { temperature: 0.25, messages: [{ role: 'system', content: 'Be brief.' }] });
      const own = await ask({ conversation_id, instructions: 'Be long.', temperature: 1 });
      t.match(own.asked, { temperature: 1, messages: [{ role: 'system', content: 'Be long.' }] });
      t.notOk('temperature' in (await ask({})).asked, 'another conversation has no temperature');
    });

    await t.test(
      'a search finds conversations with all words in titles and messages, on every page',
      async (t) => {
        const owner = await client.signUp();
        const { accountId, cookie } = owner;
        const filler = 'x '.repeat(500);
        const contents = Array.from({ length: 120 }, (_, index) =>
          index % 10 === 3
            ? `${filler}How do **I** ROTATE\n- a ${index} [**key**](/keys)? ${filler}`
            : `${filler}${index}`,
        );
        const ids = await fill(app.db, accountId, contents);
        const wanted = ids.filter((_, index) => index % 10 === 3);
        await client.patch(`/conversations/${wanted[5]}`, { pinned: true }, { cookie });
        const expected = [wanted[5], ...wanted.filter((_, index) => index !== 5)];
        for (const limit of [1, 5, 100]) {
          const found = await readAll(client, cookie, `limit=${limit}&q=rotate%20KEY`);
          t.same(
            found.map(({ id }) => id),
            expected,
            `pages of ${limit}`,
          );
          for (const { snippet } of found) t.match(snippet, /^….*How do I ROTATE a \d+ key\? x/);
        }
        const titled = await readAll(client, cookie, 'q=title%2017');
        t.same(
          titled.map(({ id, snippet }) => [id, snippet]),
          [
            [ids[17], undefined],
            [ids[117], undefined],
          ],
        );
        t.same(await readAll(client, cookie, 'q=100%25_'), [], 'the query is not a pattern');
        const [apples] = await fill(app.db, accountId, ['Two GRÜNE ÄPFEL, a straße, and x']);
        ids.push(apples ?? '');
        for (const words of ['grüne äpfel', 'ÄPFEL', 'Straße ä'])
          t.same(
            (await readAll(client, cookie, `q=${encodeURIComponent(words)}`)).map(({ id }) => id),
            [apples],
            words,
          );
        const stranger = await client.signUp();
        t.same(await readAll(client, stranger.cookie, 'q=rotate'), []);
        const { id: keyId, key } = await client.createKey(owner);
        const [own] = await fill(app.db, accountId, ['rotate mine'], keyId);
        for (const query of ['source=web&limit=7', 'source=web&q=x'])
          t.same(
            (await readAll(client, cookie, query)).length,
            ids.length,
            `${query}: without conversations of keys`,
          );
        t.same((await client.get('/conversations?source=web', { key })).body.data, []);
        t.equal((await client.get('/conversations?source=other', { cookie })).status, 400);
        const ofKey = await client.get('/conversations?q=rotate', { key });
        t.same(
          ofKey.body.data.map(({ id }: Body) => id),
          [own],
        );
        for (const q of ['', '%20', 'x'.repeat(201)])
          t.equal((await client.get(`/conversations?q=${q}`, { cookie })).status, 400);
      },
    );
  }),
);
