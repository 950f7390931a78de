// Editing a question and asking it again: the new turn takes the place of the old one, and of all after it.
import t from 'tap';
import { onEachDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

onEachDatabase(t, { CHAT_URL: upstream.url, CHAT_MODEL: 'test=test-model' }, async (t, { client }) => {
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
      `replaces, ${stream ? 'streamed' : 'in JSON'}: what comes after is not sent, and is deleted`,
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
        t.same(await textsOf(id), said('One', 'Zwei', 'Drei'), 'the next turn follows');
      },
    );

  await t.test('the first question can be replaced, and the reply counts no history', async (t) => {
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

  await t.test('a failure and `store: false` delete nothing', async (t) => {
    const id = await converse('One', 'Two');
    const two = (await messagesOf(id))[2];
    const body = { message: 'Zwei', conversation_id: id, replaces: two?.id };
    t.equal((await client.post('/chat', { ...body, store: false }, { key })).status, 200);
    t.same(await asked(), [...said('One'), 'Zwei']);
    await upstream.configure({ fault: 'status', status: 500 });
    t.equal((await client.post('/chat', body, { key })).status, 502);
    t.same(await textsOf(id), said('One', 'Two'));
  });

  await t.test(
    'replacements at once: each reply that was sent is a whole turn, after what they replaced',
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

  await t.test('only a message of the user in the conversation can be replaced', async (t) => {
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
