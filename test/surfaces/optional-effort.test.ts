// Reasoning efforts that a model rejects. Contract section 14.
import t from 'tap';
import { optionalEffort } from '../../src/surfaces/optional-effort.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import { asking, chatEngine, collect, never } from '../support/upstream/engine.ts';
import { answerOf, startVendors, type Vendor } from '../support/upstream/kinds.ts';
import { chunkText, completionChunks, type WireCall, wireServer } from '../support/upstream/wire.ts';

const anthropicError = (message: string) => ({
  status: 400,
  body: { type: 'error', error: { type: 'invalid_request_error', message } },
});
const openaiError = (message: string, param: string) => ({
  status: 400,
  body: { error: { type: 'invalid_request_error', code: 'unsupported_parameter', message, param } },
});

const effortIn = ({ body }: WireCall): string | undefined =>
  body.output_config?.effort ?? body.reasoning?.effort;
const effortsIn = (calls: WireCall[]) => calls.splice(0).map(effortIn);
const signatures = ({ body }: WireCall): unknown[] =>
  body.messages.flatMap(({ content }: Body) =>
    Array.isArray(content) ? content.flatMap(({ signature }: Body) => signature ?? []) : [],
  );

t.test('an upstream error unrelated to effort does not disable effort for any account', async (t) => {
  const { calls, env } = await startVendors(t, (kind, call) =>
    kind === 'anthropic' && signatures(call).includes('forged')
      ? anthropicError('messages.1.content.0: Invalid `signature` in `thinking` block')
      : answerOf(kind, call),
  );
  onEachDatabase(t, env, async (t, { client }) => {
    const attacker = await client.createKey(await client.signUp());
    const other = await client.createKey(await client.signUp());
    const asked = { model: 'anthropic', reasoning: { effort: 'high' } };
    const forged = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', summary: [], encrypted_content: 'anthropic-claude-v1:signature:forged' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'And?' },
    ];
    for (const stream of [false, true]) {
      const { key } = attacker;
      t.equal((await client.post('/responses', { ...asked, input: forged, stream }, { key })).status, 400);
    }
    t.same(effortsIn(calls.anthropic), ['high', 'high'], 'the request is not retried');
    for (const { key } of [other, attacker])
      t.equal((await client.post('/responses', { ...asked, input: 'Hi' }, { key })).status, 200);
    t.same(effortsIn(calls.anthropic), ['high', 'high']);
  });
});

const refusals: Record<Vendor, string[]> = {
  anthropic: [
    'adaptive thinking is not supported on this model',
    'This model does not support the effort parameter.',
    'output_config.effort: Extra inputs are not permitted',
  ],
  'openai-responses': ["Unsupported parameter: 'reasoning.effort' is not supported with this model."],
};

for (const [kind, messages] of Object.entries(refusals) as [Vendor, string[]][])
  for (const message of messages)
    t.test(`${kind}: "${message}" is remembered only for that account and effort`, async (t) => {
      const { calls, env } = await startVendors(t, (_, call) => {
        if (effortIn(call) === undefined) return answerOf(kind, call);
        return kind === 'anthropic' ? anthropicError(message) : openaiError(message, 'reasoning.effort');
      });
      onEachDatabase(t, env, async (t, { client }) => {
        const first = await client.createKey(await client.signUp());
        const second = await client.createKey(await client.signUp());
        const ask = async (key: string, path: string, effort: string, stream: boolean) => {
          const body =
            path === '/responses'
              ? { input: 'Hi thinking effort', reasoning: { effort, summary: 'auto' } }
              : {
                  max_tokens: 10,
                  messages: [{ role: 'user', content: 'Hi thinking effort' }],
                  thinking: { type: 'adaptive' },
                  output_config: { effort, format: { type: 'json_schema', schema: { type: 'object' } } },
                };
          const answer = await client.post(path, { model: kind, stream, ...body }, { key });
          t.equal(answer.status, 200, `${path}: ${answer.text}`);
          const last = calls[kind].at(-1)?.body;
          t.notOk(
            'reasoning' in last || 'thinking' in last || 'include' in last,
            'the upstream request has no reasoning fields',
          );
          if (path === '/messages')
            t.ok(last.output_config?.format ?? last.text?.format, 'the format is kept');
          return effortsIn(calls[kind]);
        };
        for (const [path, effort] of [
          ['/responses', 'low'],
          ['/messages', 'high'],
        ] as const) {
          t.same(await ask(first.key, path, effort, false), [effort, undefined]);
          t.same(await ask(first.key, path, effort, true), [undefined], 'remembered');
          t.same(await ask(second.key, path, effort, true), [effort, undefined], 'not for other accounts');
        }
        t.same(await ask(first.key, '/responses', 'medium', false), ['medium', undefined], 'another effort');
      });
    });

t.test('an effort is omitted for ten minutes, and only if the request succeeds without it', async (t) => {
  let isDown = true;
  const { calls, url } = await wireServer(t, ({ body }) => {
    if (body.reasoning_effort !== undefined)
      return openaiError("Unsupported parameter: 'reasoning_effort'.", 'reasoning_effort');
    return isDown ? { status: 500, body: {} } : { body: chunkText(completionChunks) };
  });
  let now = 0;
  const models = { kind: 'exact', models: [{ id: 'public', upstream: 'gpt-5' }] } as const;
  const engine = optionalEffort(chatEngine(url, { models }), () => now);
  const efforts = () => calls.splice(0).map(({ body }) => body.reasoning_effort);
  const ask = async () =>
    collect(
      engine.stream(asking('Hi', { model: 'public', reasoning_effort: 'high', stream: true }), never()),
    );
  await t.rejects(ask());
  t.same(efforts(), ['high', undefined]);
  isDown = false;
  await ask();
  t.same(efforts(), ['high', undefined], 'a failed retry is not remembered');
  now = 10 * 60_000 - 1;
  await ask();
  t.same(efforts(), [undefined]);
  now += 1;
  await ask();
  t.same(efforts(), ['high', undefined]);
});

t.test('an effort that a model does not support becomes the highest supported one', async (t) => {
  const { calls, env } = await startVendors(t, (kind, call) => {
    const effort = effortIn(call);
    if (kind === 'openai-responses' && effort === 'max')
      return openaiError(
        "Invalid value: 'max'. Supported values are: 'low', 'medium', and 'high'.",
        'reasoning.effort',
      );
    return answerOf(kind, call);
  });
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const ask = async (model: Vendor) => {
      const body = {
        model,
        max_tokens: 99,
        messages: [{ role: 'user', content: 'Hi' }],
        output_config: { effort: 'max' },
      };
      t.equal((await client.post('/messages', body, { key })).status, 200);
      return effortsIn(calls[model]);
    };
    t.same(await ask('openai-responses'), ['max', 'high']);
    t.same(await ask('openai-responses'), ['high'], 'remembered');
    t.same(await ask('anthropic'), ['max'], 'a model that supports the effort receives it');
  });
});
