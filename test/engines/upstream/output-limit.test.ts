// The output limit is sent as `max_tokens`, which every server supports, or under the only name that a model accepts.
import t from 'tap';
import { asking, chatEngine, collect, failure, never } from '../../support/upstream/engine.ts';
import { type WireCall, wireServer } from '../../support/upstream/wire.ts';

const completion = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'theirs' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const chunk = {
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'theirs' },
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};
const answerTo = ({ body }: WireCall) => ({
  body: body?.stream ? `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` : completion,
});
const refusal = (error: object) => ({ status: 400, body: { error } });

/** The error of OpenAI's reasoning models. */
const unsupported = refusal({
  ...{ code: 'unsupported_parameter', param: 'max_tokens', type: 'invalid_request_error' },
  message:
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
});

const limitsOf = (calls: readonly WireCall[]) =>
  calls.map(({ body }) => [body?.max_tokens, body?.max_completion_tokens]);

t.test('max_tokens and max_completion_tokens are the same limit, which is sent as max_tokens', async (t) => {
  const { calls, url } = await wireServer(t, answerTo);
  const chat = chatEngine(url);
  await chat.complete(asking('Hi', { max_completion_tokens: 7 }), never());
  await collect(chat.stream(asking('Hi', { max_completion_tokens: 7, max_tokens: null }), never()));
  await chat.complete(asking('Hi', { max_completion_tokens: 9, max_tokens: 8 }), never());
  await chat.complete(asking('Hi'), never());
  t.same(limitsOf(calls), [
    [7, undefined],
    [7, undefined],
    [8, undefined],
    [undefined, undefined],
  ]);
});

for (const [server, refused] of [
  ['OpenAI', unsupported],
  [
    'a server without codes',
    {
      status: 422,
      body: { detail: [{ loc: ['body', 'max_tokens'], msg: 'Extra inputs are not permitted' }] },
    },
  ],
] as const)
  t.test(
    `a request that is rejected for max_tokens is retried with the newer name, which is remembered: ${server}`,
    async (t) => {
      const { calls, url } = await wireServer(t, (call) =>
        call.body?.max_tokens === undefined ? answerTo(call) : refused,
      );
      const chat = chatEngine(url);
      await collect(chat.stream(asking('Hi', { max_tokens: 7 }), never()));
      await chat.complete(asking('Hi', { max_tokens: 8 }), never());
      t.same(limitsOf(calls), [
        [7, undefined],
        [undefined, 7],
        [undefined, 8],
      ]);
    },
  );

t.test('a retry that also fails is not remembered', async (t) => {
  let isDown = true;
  const { calls, url } = await wireServer(t, (call) => {
    if (call.body?.max_tokens !== undefined) return isDown ? unsupported : answerTo(call);
    return refusal({ code: 'invalid_prompt', message: 'No.' });
  });
  const chat = chatEngine(url);
  await failure(chat.complete(asking('Hi', { max_tokens: 7 }), never()));
  isDown = false;
  await chat.complete(asking('Hi', { max_tokens: 7 }), never());
  t.same(limitsOf(calls), [
    [7, undefined],
    [undefined, 7],
    [7, undefined],
  ]);
});

t.test('a rejected value is not retried under a name that the upstream may ignore', async (t) => {
  for (const error of [
    { code: 'integer_above_max_value', param: 'max_tokens', message: 'max_tokens is too large: 7.' },
    { code: 'invalid_value', param: 'max_tokens', message: "Invalid 'max_tokens'." },
    { message: 'max_tokens must be at least 16.' },
  ]) {
    const { calls, url } = await wireServer(t, (call) =>
      call.body?.max_tokens === undefined ? answerTo(call) : refusal(error),
    );
    await failure(chatEngine(url).complete(asking('Hi', { max_tokens: 7 }), never()));
    t.same(limitsOf(calls), [[7, undefined]], error.message);
  }
});
