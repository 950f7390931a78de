// A conversation has the finish reason of each reply.
import t from 'tap';
import type { Body } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

onEachDatabase(t, { CHAT_URL: upstream.url }, async (t, { client }) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const endsOf = async (id: string) =>
    (await client.get(`/conversations/${id}`, { key })).body.messages.map((message: Body) => [
      message.role,
      message.finish_reason,
    ]);

  for (const stream of [false, true])
    await t.test(`stored replies have a finish_reason, ${stream ? 'streamed' : 'in JSON'}`, async (t) => {
      const ask = async (body: object): Promise<Body> => {
        const answer = await client.post(
          '/chat',
          { message: 'One two three four five', stream, ...body },
          { key },
        );
        return stream ? answer.body.at(-1).data : answer.body;
      };
      const cut = await ask({ max_output_tokens: 3 });
      t.equal(cut.finish_reason, 'length');
      const { conversation_id } = cut;
      await ask({ conversation_id });
      t.same(await endsOf(conversation_id), [
        ['user', undefined],
        ['assistant', 'length'],
        ['user', undefined],
        ['assistant', 'stop'],
      ]);
    });
});
