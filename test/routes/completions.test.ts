import t from 'tap';
import { onEachDatabase } from '../support/service.ts';

onEachDatabase(t, {}, async (t, { client }) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const messages = [{ role: 'user', content: 'How do I create a key?' }];
  const used = async () => (await client.get('/usage', { key })).body.used.chat;

  await t.test(
    "POST /chat/completions 200: has OpenAI's format, and returns and charges n choices",
    async (t) => {
      const answer = await client.post(
        '/chat/completions',
        { model: 'parley-builtin', messages, n: 3 },
        { key },
      );
      t.match(answer, {
        status: 200,
        body: {
          id: /^chatcmpl-/,
          object: 'chat.completion',
          model: 'parley-builtin',
          system_fingerprint: /.*/,
        },
      });
      t.same(
        answer.body.choices.map(({ index }: { index: number }) => index),
        [0, 1, 2],
      );
      t.match(answer.body.choices[0], {
        message: { role: 'assistant', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      });
      t.equal(
        answer.body.usage.total_tokens,
        answer.body.usage.prompt_tokens + answer.body.usage.completion_tokens,
      );
      t.equal(await used(), 3);
    },
  );

  await t.test(
    'POST /chat/completions 200: accepts content parts, developer and tool roles, and unused fields',
    async (t) => {
      const body = {
        messages: [
          { role: 'developer', content: 'Be brief.' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'a', content: '42' },
          { role: 'user', content: [{ type: 'text', text: 'Which models are there?' }] },
        ],
        max_completion_tokens: 5,
        max_tokens: null,
        user: 'somebody',
        response_format: { type: 'text' },
      };
      const answer = await client.post('/chat/completions', body, { key });
      t.match(answer, { status: 200, body: { choices: [{ finish_reason: 'length' }] } });
    },
  );

  await t.test('POST /chat/completions: invalid input is not charged', async (t) => {
    const before = await used();
    const wrong: [unknown, number, string][] = [
      [{ messages: [] }, 400, 'messages'],
      [{}, 400, 'messages'],
      [{ messages: [{ role: 'robot', content: 'x' }] }, 400, 'messages.0.role'],
      [{ messages, n: 9 }, 400, 'n'],
      [{ messages, n: 0 }, 400, 'n'],
      [{ messages, model: 'gpt-nope' }, 404, 'model'],
    ];
    for (const [body, status, param] of wrong) {
      t.match(
        await client.post('/chat/completions', body, { key }),
        { status, body: { error: { param } } },
        JSON.stringify(body),
      );
    }
    t.equal(await used(), before);
  });
});
