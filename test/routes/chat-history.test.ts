// Which messages of a conversation reach the model, and how many the response reports as omitted. Reliability test 75.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import type { Body, Client } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

/** Sends a message. Returns the reply and the messages that reached the model. */
async function ask(client: Client, key: string, body: Body) {
  await upstream.reset();
  const answer = await client.post('/chat', body, { key });
  const { messages } = (await upstream.onlyCall()).body as { messages: { role: string; content: string }[] };
  return { answer, reply: answer.body, asked: messages.map(({ content }) => content) };
}

const env = { CHAT_URL: upstream.url, CHAT_MODEL: 'test=test-model' };

t.test('the default budget', async (t) =>
  onEachDatabase(t, env, async (t, { client, database }) => {
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);

    await t.test(
      '75: after a message of 60,000 characters, the next turn omits it and reports how many messages it omitted',
      async (t) => {
        const first = await ask(client, key, { message: 'x'.repeat(60_000) });
        t.same(first.reply.history, { included: 0, omitted: 0 });
        const { conversation_id } = first.reply;
        const second = await ask(client, key, { message: 'And now?', conversation_id });
        t.same(second.asked, ['And now?']);
        t.same(second.reply.history, { included: 0, omitted: 2 });
        const third = await ask(client, key, { message: 'Again', conversation_id });
        t.same(third.asked, ['And now?', 'You said: And now?', 'Again']);
        t.same(third.reply.history, { included: 2, omitted: 2 });
      },
    );

    await t.test('the `done` event of a stream and a replayed response report the history', async (t) => {
      const { reply } = await ask(client, key, { message: 'x'.repeat(50_000) });
      const body = { message: 'And now?', conversation_id: reply.conversation_id };
      const headers = (value: string) => ({ key, headers: { 'idempotency-key': value } });
      for (const stream of [false, true]) {
        const told = async () => {
          const answer = await client.post('/chat', { ...body, stream }, headers(`once-${stream}`));
          return stream ? answer.body.at(-1).data : answer.body;
        };
        const once = await told();
        t.same(once.history, { included: stream ? 2 : 0, omitted: 2 });
        t.same(await told(), once);
      }
    });

    await t.test('a question that does not fit is omitted together with its reply', async (t) => {
      await upstream.reset();
      const { reply } = await ask(client, key, { message: 'y'.repeat(30_000) });
      const { conversation_id } = reply;
      const { asked, reply: next } = await ask(client, key, { message: 'And now?', conversation_id });
      t.same(asked, ['And now?'], 'the reply alone would have fit');
      t.same(next.history, { included: 0, omitted: 2 });
    });

    await t.test(
      'messages stored without positions are sent in the order of their IDs, before newer ones',
      async (t) => {
        const { reply } = await ask(client, key, { message: 'one' });
        const { conversation_id } = reply;
        await database.db.execute(sql`delete from messages where conversation_id = ${conversation_id}::uuid`);
        const old = ['one', 'You said: one', 'two', 'You said: two'];
        for (const [n, content] of old.entries()) {
          await database.db.execute(
            sql`insert into messages (account_id, conversation_id, id, role, content, created_at)
              values (${owner.accountId}::uuid, ${conversation_id}::uuid, ${uuidv7()}::uuid,
                      ${n % 2 === 0 ? 'user' : 'assistant'}::text, ${content}::text, now())`,
          );
        }
        const three = await ask(client, key, { message: 'three', conversation_id });
        t.same(three.asked, [...old, 'three']);
        t.same(three.reply.history, { included: 4, omitted: 0 });
        const four = await ask(client, key, { message: 'z'.repeat(60_000), conversation_id });
        t.same(four.asked.slice(0, -1), [...old, 'three', 'You said: three']);
        const five = await ask(client, key, { message: 'five', conversation_id });
        t.same(five.reply.history, { included: 0, omitted: 8 }, 'positions include the old messages');
        const { body } = await client.get(`/conversations/${conversation_id}`, { key });
        t.same(
          body.messages.map(({ content }: Body) => content.slice(0, 15)),
          [
            ...[...old, 'three', 'You said: three'],
            ...['z'.repeat(15), 'You said: zzzzz', 'five', 'You said: five'],
          ],
        );
      },
    );
  }),
);

t.test('CHAT_HISTORY_CHARACTERS sets the budget', async (t) =>
  onEachDatabase(t, { ...env, CHAT_HISTORY_CHARACTERS: '60' }, async (t, { client, database }) => {
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    const { reply } = await ask(client, key, { message: 'a1' });
    const { conversation_id } = reply;
    for (const message of ['a2', 'a3', 'a4', 'a5']) await ask(client, key, { message, conversation_id });

    await t.test('the newest messages that fit are sent, oldest first', async (t) => {
      // A question has 2 characters, and its reply 12.
      const { asked, reply: last } = await ask(client, key, { message: 'a6', conversation_id });
      t.same(asked, [...['a2', 'a3', 'a4', 'a5'].flatMap((text) => [text, `You said: ${text}`]), 'a6']);
      t.same(last.history, { included: 8, omitted: 2 });
    });

    await t.test('messages stored without positions are counted as omitted', async (t) => {
      await database.db.execute(
        sql`update messages set position = 0 where conversation_id = ${conversation_id}::uuid`,
      );
      const { asked, reply: last } = await ask(client, key, { message: 'a7', conversation_id });
      t.equal(asked.length, 9);
      t.same(last.history, { included: 8, omitted: 4 });
    });
  }),
);

const withContext = (contextTokens: number) => upstreamsFile(several([upstream], {}, { contextTokens })).env;

t.test('a known context window sets the budget', async (t) =>
  onEachDatabase(t, withContext(40_000), async (t, { client }) => {
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    // The reply reserves 10,000 tokens. The rest fits 90,000 bytes.
    await t.test('a large context window fits more than the default budget', async (t) => {
      const { reply } = await ask(client, key, { message: 'x'.repeat(40_000) });
      const { conversation_id } = reply;
      const next = await ask(client, key, { message: 'And now?', conversation_id });
      t.same(next.reply.history, { included: 2, omitted: 0 });
      const limited = { message: 'And now?', conversation_id, max_output_tokens: 20_000 };
      const { reply: short } = await ask(client, key, limited);
      t.same(short.history, { included: 2, omitted: 2 }, 'tokens reserved for the reply reduce the budget');
    });

    await t.test('the budget counts bytes, so multibyte text uses more of it', async (t) => {
      const { reply } = await ask(client, key, { message: '\u65e5'.repeat(16_000) });
      const { conversation_id } = reply;
      const next = await ask(client, key, { message: 'And now?', conversation_id });
      t.same(next.reply.history, { included: 0, omitted: 2 });
    });
  }),
);

t.test('CHAT_HISTORY_CHARACTERS also limits models with a known context window', async (t) => {
  const limited = { ...withContext(40_000), CHAT_HISTORY_CHARACTERS: '60' };
  await onEachDatabase(t, limited, async (t, { client }) => {
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    const { reply } = await ask(client, key, { message: 'x'.repeat(100) });
    const next = await ask(client, key, { message: 'b', conversation_id: reply.conversation_id });
    t.same(next.reply.history, { included: 0, omitted: 2 });
  });
});

t.test('with a very large context window, the newest 2 million bytes are sent', async (t) =>
  onEachDatabase(t, withContext(2_000_000), async (t, { client, database }) => {
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    const { reply } = await ask(client, key, { message: 'Hi' });
    const { conversation_id } = reply;
    await database.db.execute(
      sql`insert into messages (account_id, conversation_id, id, position, role, content, created_at)
          select ${owner.accountId}::uuid, ${conversation_id}::uuid, gen_random_uuid(), 2 + n,
                 case n % 2 when 1 then 'user' else 'assistant' end, repeat('x', 100000), now()
          from generate_series(1, 30) n`,
    );
    const from = performance.now();
    const next = await ask(client, key, { message: 'And now?', conversation_id });
    t.comment(`${Math.round(performance.now() - from)} ms`);
    t.same(next.reply.history, { included: 20, omitted: 12 });
  }),
);
