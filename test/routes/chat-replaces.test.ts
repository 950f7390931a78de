// Editing a message: the new turn replaces the old one and all later turns.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { openStream } from '../support/event-reader.ts';
import { onEachDatabase } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

onEachDatabase(t, { CHAT_URL: upstream.url, CHAT_MODEL: 'test=test-model' }, async (t, service) => {
  const { client } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  t.beforeEach(() => upstream.reset());

  async function converse(...questions: string[]): Promise<string> {
    let id: string | undefined;
    for (const message of questions)
      id = (await client.post('/chat', { message, ...(id && { conversation_id: id }) }, { key })).body
        .conversation_id;
    await upstream.reset();
    return id as string;
  }
  type Message = { id: string; role: string; content: string };
  const messagesOf = async (id: string): Promise<Message[]> =>
    (await client.get(`/conversations/${id}`, { key })).body.messages;
  const textsOf = async (id: string) => (await messagesOf(id)).map(({ content }) => content);
  const said = (...questions: string[]) => questions.flatMap((one) => [one, `You said: ${one}`]);
  async function asked(): Promise<string[]> {
    const { messages } = (await upstream.onlyCall()).body as { messages: { content: string }[] };
    return messages.map(({ content }) => content);
  }

  for (const stream of [false, true])
    await t.test(
      `replaces, ${stream ? 'streamed' : 'in JSON'}: later messages are not sent to the model and are deleted`,
      async (t) => {
        const id = await converse('One', 'Two', 'Three');
        const [, , two] = await messagesOf(id);
        const body = { message: 'Zwei', conversation_id: id, replaces: two?.id, stream };
        t.equal((await client.post('/chat', body, { key })).status, 200);
        t.same(await asked(), [...said('One'), 'Zwei']);
        t.same(await textsOf(id), said('One', 'Zwei'));
        await upstream.reset();
        await client.post('/chat', { message: 'Drei', conversation_id: id }, { key });
        t.same(await asked(), [...said('One', 'Zwei'), 'Drei']);
        t.same(await textsOf(id), said('One', 'Zwei', 'Drei'), 'the next turn is appended');
      },
    );

  await t.test('the first message can be replaced, and the response reports no history', async (t) => {
    const id = await converse('One', 'Two');
    const [one] = await messagesOf(id);
    const { body } = await client.post(
      '/chat',
      { message: 'Eins', conversation_id: id, replaces: one?.id },
      { key },
    );
    t.same(body.history, { included: 0, omitted: 0 });
    t.same(await textsOf(id), said('Eins'));
  });

  await t.test('a retry with the same idempotency key replaces once', async (t) => {
    const id = await converse('One', 'Two');
    const two = (await messagesOf(id))[2];
    const body = { message: 'Zwei', conversation_id: id, replaces: two?.id };
    const options = { key, headers: { 'idempotency-key': `replace-${id}` } };
    const first = await client.post('/chat', body, options);
    t.same((await client.post('/chat', body, options)).body, first.body);
    t.same(await textsOf(id), said('One', 'Zwei'));
  });

  await t.test('a failed request and `store: false` delete nothing', async (t) => {
    const id = await converse('One', 'Two');
    const two = (await messagesOf(id))[2];
    const body = { message: 'Zwei', conversation_id: id, replaces: two?.id };
    t.equal((await client.post('/chat', { ...body, store: false }, { key })).status, 200);
    t.same(await asked(), [...said('One'), 'Zwei']);
    await upstream.configure({ fault: 'status', status: 500 });
    t.equal((await client.post('/chat', body, { key })).status, 502);
    t.same(await textsOf(id), said('One', 'Two'));
  });

  await t.test('a stopped stream is charged but not stored, and deletes nothing', async (t) => {
    const id = await converse('One', 'Two');
    const two = (await messagesOf(id))[2];
    const body = { message: 'Zwei', conversation_id: id, replaces: two?.id, stream: true };
    await upstream.configure({ chunks: 600, chunkIntervalMs: 50 });
    const stream = await openStream(client, '/chat', body, { key });
    const request = (await stream.next())?.data.id;
    await stream.next();
    t.match(await client.post(`/chat/${request}/cancel`, undefined, { key }), { status: 200 });
    const done = (await stream.rest()).at(-1);
    t.match(done, { event: 'done', data: { stopped: true, conversation_id: id } });
    t.ok(done?.data.reply.length > 0);
    t.same(await textsOf(id), said('One', 'Two'));
    t.match(await lastCharge(service, owner.accountId), {
      ...{ state: 'final', status: 200, output_tokens: done?.data.usage.output_tokens },
    });
  });

  await t.test('a request stopped before its first output deletes nothing, even when retried', async (t) => {
    const id = await converse('One', 'Two');
    const two = (await messagesOf(id))[2];
    for (const stream of [false, true]) {
      const body = { message: 'Zwei', conversation_id: id, replaces: two?.id, stream };
      await upstream.configure({ headersDelayMs: 30_000 });
      const { chat: calls } = await upstream.calls();
      const idempotencyKey = randomUUID();
      const options = { key, headers: { 'idempotency-key': idempotencyKey } };
      const answer = client.post('/chat', body, options);
      await eventually('the upstream has the request', async () => (await upstream.calls()).chat > calls);
      await client.post('/chat/cancel', { idempotency_key: idempotencyKey }, { key });
      const replyOf = ({ body: of }: Awaited<typeof answer>) => (stream ? of.at(-1).data : of);
      t.match(replyOf(await answer), { stopped: true, conversation_id: id });
      t.match(replyOf(await client.post('/chat', body, options)), { stopped: true });
      t.same(await textsOf(id), said('One', 'Two'));
    }
  });

  await t.test('a client that disconnects during the reply deletes nothing', async (t) => {
    const id = await converse('One', 'Two');
    const two = (await messagesOf(id))[2];
    const body = { message: 'Zwei', conversation_id: id, replaces: two?.id, stream: true };
    await upstream.configure({ chunks: 600, chunkIntervalMs: 50 });
    const stream = await openStream(client, '/chat', body, { key });
    await stream.next();
    await stream.next();
    stream.leave();
    await eventually('the end of the request is recorded', async () => {
      const charge = await lastCharge(service, owner.accountId);
      return charge?.status === 499 && charge.output_tokens !== null;
    });
    t.same(await textsOf(id), said('One', 'Two'));
  });

  await t.test(
    'concurrent replacements: each reply that was sent is stored as a complete turn',
    async (t) => {
      const id = await converse('One', 'Two', 'Three');
      const two = (await messagesOf(id))[2];
      const replace = async (message: string) =>
        (await client.post('/chat', { message, conversation_id: id, replaces: two?.id }, { key })).status;
      const statuses = await Promise.all(['A', 'B', 'C'].map(replace));
      const answered = ['A', 'B', 'C'].filter((_, index) => statuses[index] === 200);
      t.ok(
        statuses.every((status) => status === 200 || status === 404) && answered.length > 0,
        `${statuses}`,
      );
      const texts = await textsOf(id);
      const questions = texts.slice(2).filter((_, index) => index % 2 === 0);
      t.same(texts, said('One', ...questions));
      t.same([...questions].sort(), answered);
    },
  );

  await t.test('only a user message of the same conversation can be replaced', async (t) => {
    const id = await converse('One');
    const other = await converse('Elsewhere');
    const [one, answer] = await messagesOf(id);
    const [elsewhere] = await messagesOf(other);
    for (const replaces of [answer?.id, elsewhere?.id, other])
      t.match(await client.post('/chat', { message: 'x', conversation_id: id, replaces }, { key }), {
        status: 404,
        body: { error: { code: 'notFound', param: 'replaces' } },
      });
    t.match(await client.post('/chat', { message: 'x', replaces: one?.id }, { key }), {
      status: 400,
      body: { error: { code: 'invalidRequest', param: 'replaces' } },
    });
    t.same(await textsOf(id), said('One'));
    t.same(await textsOf(other), said('Elsewhere'));
  });
});
