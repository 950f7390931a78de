// Messages are returned in the order of their turns, whichever replica stored them: reliability test 74.
import t from 'tap';
import { startCluster } from '../support/replicas.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const { replicas } = await startCluster(t, {
  count: 2,
  env: { CHAT_URL: upstream.url, CHAT_MODEL: 'test=test-model' },
  envs: [{ CLOCK_SKEW_MS: '10000' }, {}],
});
const [ahead, behind] = replicas.map(({ client }) => client);
if (ahead === undefined || behind === undefined) throw new Error('This test needs two replicas.');

const said = ['one', 'two', 'three', 'four', 'five'];
const told = said.flatMap((text) => [text, `You said: ${text}`]);

t.test(
  '74: replicas whose clocks are 10 s apart return and send the messages of a conversation in order',
  async (t) => {
    const { key } = await ahead.createKey(await ahead.signUp());
    let conversationId: string | undefined;
    for (const [n, message] of said.entries()) {
      const client = n % 2 === 0 ? ahead : behind;
      await upstream.reset();
      const { body } = await client.post(
        '/chat',
        { message, ...(conversationId !== undefined && { conversation_id: conversationId }) },
        { key },
      );
      t.equal(body.reply, `You said: ${message}`);
      conversationId = body.conversation_id;
      const asked = (await upstream.onlyCall()).body as { messages: { content: string }[] };
      t.same(
        asked.messages.map(({ content }) => content),
        [...told.slice(0, 2 * n), message],
        `the messages sent to the model with question ${n + 1}`,
      );
    }

    for (const client of [ahead, behind]) {
      const whole = await client.get(`/conversations/${conversationId}`, { key });
      t.same(
        whole.body.messages.map(({ content }: { content: string }) => content),
        told,
      );
      const pages: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await client.get(
          `/conversations/${conversationId}?limit=3${cursor && `&cursor=${cursor}`}`,
          { key },
        );
        pages.unshift(...body.messages.map(({ content }: { content: string }) => content));
        cursor = body.next_cursor;
      }
      t.same(pages, told, 'across pages');
    }
  },
);
