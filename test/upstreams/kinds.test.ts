// Upstreams of each kind behind each surface: fields that pass through, the request log, and streams cut at every event.
import t from 'tap';
import type { ServerEvent } from '../support/event-reader.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase, startTestService, type TestService } from '../support/service.ts';
import { lastChargeBecomes } from '../support/spending.ts';
import { surfaces } from '../support/surfaces.ts';
import { eventually } from '../support/upstream/engine.ts';
import { answerOf, cuts, startVendors, vendorKinds } from '../support/upstream/kinds.ts';
import { anthropicMessage, wireServer } from '../support/upstream/wire.ts';

const SEAL = 'gAAAAABoISQ24OyVRYbk';

const newCaller = async ({ client }: TestService) => {
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const used = async () => (await client.get('/usage', { cookie: owner.cookie })).body.used.chat;
  return { ...owner, key, used };
};

// Uses a single upstream, because a router would cool it down after failures.
for (const [kind, { complete, events, firstOutput }] of Object.entries(cuts))
  t.test(
    `a stream of ${kind} that is cut off is refunded before the first output, and ends with an error event after it`,
    async (t) => {
      let length = 0;
      const { url } = await wireServer(t, () => ({ body: events.slice(0, length).join('') }));
      onEachDatabase(t, { CHAT_KIND: kind, CHAT_URL: url, CHAT_MODEL: 'm=m' }, async (t, service) => {
        for (const surface of surfaces) {
          const { accountId, key, used } = await newCaller(service);
          let delivered = 0;
          for (length = 0; length < events.length; length += 1) {
            const what = `${surface.path}, after ${length} events`;
            const answer = await service.client.post(surface.path, surface.body('Hi', { stream: true }), {
              key,
            });
            if (length <= firstOutput) {
              t.match(answer, { status: 502, body: { error: { code: 'upstreamError' } } }, what);
              await lastChargeBecomes(service, accountId, { state: 'refunded' });
              continue;
            }
            delivered += 1;
            t.equal(answer.status, 200, what);
            const told: ServerEvent[] = answer.body;
            const isComplete = length >= complete;
            t.equal(told.some(surface.isEnd), isComplete, what);
            if (!isComplete) t.equal(surface.failureOf(told), 'upstreamError', what);
            await lastChargeBecomes(service, accountId, { state: 'final' });
          }
          t.equal(await used(), delivered, `${surface.path}: requests with output are charged`);
        }
      });
    },
  );

t.test(
  "with the vendor's own API, fields and reasoning pass through, but the vendor's built-in tools do not",
  async (t) => {
    const { calls, env } = await startVendors(t, (kind, call) =>
      call.path.endsWith('/count_tokens') ? { body: { input_tokens: 2095 } } : answerOf(kind, call),
    );
    const service = await startTestService(t, 'embedded', env);
    const { client } = service;
    const { key } = await newCaller(service);

    await t.test("/messages requests and Anthropic's replies pass through, thinking included", async (t) => {
      const cached = { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } };
      const asked = {
        model: 'anthropic',
        max_tokens: 100,
        system: [cached],
        thinking: { type: 'adaptive' },
        tools: [
          { name: 'get_weather', input_schema: { type: 'object' }, defer_loading: true },
          { type: 'web_search_20250305', name: 'web_search' },
        ],
        messages: [{ role: 'user', content: 'Weather?' }] as object[],
      };
      const headers = { 'anthropic-beta': 'advanced-tool-use-2025-11-20,context-1m-2025-08-07' };
      const first = await client.post('/messages', asked, { key, headers });
      t.same(first.body.content, anthropicMessage.content, "the content is the upstream's, unchanged");
      t.same(first.body.usage, anthropicMessage.usage);

      const results = anthropicMessage.content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Sunny.', is_error: true }));
      const foreign = { type: 'thinking', thinking: 'x', signature: 'parley' };
      asked.messages.push(
        { role: 'assistant', content: [foreign, ...first.body.content] },
        { role: 'user', content: results },
      );
      await client.post('/messages?beta=true', asked, { key, headers });
      const { body, headers: sent } = calls.anthropic.at(-1) ?? {};
      t.same(body, {
        ...asked,
        model: 'their-anthropic',
        tools: asked.tools.slice(0, 1),
        messages: [
          asked.messages[0],
          { role: 'assistant', content: anthropicMessage.content },
          asked.messages[2],
        ],
      });
      t.equal(sent?.['anthropic-beta'], 'advanced-tool-use-2025-11-20');

      const counted = await client.post(
        '/messages/count_tokens',
        { ...asked, max_tokens: undefined },
        { key },
      );
      t.same(counted.body, { input_tokens: 2095 }, 'the upstream counts the tokens');
      t.match(calls.anthropic.at(-1), {
        path: '/v1/messages/count_tokens',
        body: { model: 'their-anthropic' },
      });
    });

    await t.test("/responses requests and OpenAI's replies pass through, reasoning included", async (t) => {
      const grammar = {
        type: 'custom',
        name: 'patch',
        format: { type: 'grammar', syntax: 'lark', definition: 'x' },
      };
      const asked = {
        model: 'openai-responses',
        instructions: 'Be brief.',
        input: 'Weather?',
        reasoning: { effort: 'low', summary: 'auto' },
        include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
        tools: [
          { type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: true },
          grammar,
          { type: 'namespace', name: 'maps', tools: [{ type: 'function', name: 'map', parameters: {} }] },
          { type: 'web_search' },
        ],
      };
      const first = await client.post('/responses', asked, { key });
      t.match(first.body.output, [
        { type: 'reasoning', encrypted_content: SEAL },
        { type: 'message', content: [{ text: "Okay, let's check the weather." }] },
        { type: 'function_call', call_id: 'call_unDw3TjSk2' },
        { type: 'function_call', call_id: 'call_vEw4UkTl3', name: 'map', namespace: 'maps' },
      ]);

      const output = ['call_unDw3TjSk2', 'call_vEw4UkTl3'].map((id) => ({
        ...{ type: 'function_call_output', call_id: id, output: 'Sunny.' },
      }));
      const again = { ...asked, input: output, previous_response_id: first.body.id };
      t.equal((await client.post('/responses', again, { key })).status, 200);
      const { body } = calls['openai-responses'].at(-1) ?? {};
      t.match(body, {
        model: 'their-openai-responses',
        store: false,
        instructions: 'Be brief.',
        reasoning: asked.reasoning,
        include: ['reasoning.encrypted_content'],
        tools: asked.tools.slice(0, 3),
      });
      t.notOk('previous_response_id' in (body ?? {}));
      t.match(body?.input, [
        { role: 'user', content: 'Weather?' },
        { type: 'reasoning', encrypted_content: SEAL },
        { type: 'message', role: 'assistant' },
        { type: 'function_call', name: 'get_weather' },
        { type: 'function_call', name: 'map', namespace: 'maps' },
        { type: 'function_call_output', output: 'Sunny.' },
        { type: 'function_call_output', output: 'Sunny.' },
      ]);
      t.notOk(
        body?.input.some(({ id }: Body) => id),
        "Parley's item IDs are not sent",
      );
    });

    await t.test("reasoning round-trips through the other vendor's API, too", async (t) => {
      const { body: answered } = await client.post(
        '/responses',
        { model: 'anthropic', input: 'Weather?' },
        { key },
      );
      const input = [
        { role: 'user', content: 'Weather?' },
        ...answered.output,
        ...['toolu_01T1x1fJ34', 'toolu_02'].map((id) => ({
          ...{ type: 'function_call_output', call_id: id, output: 'Sunny.' },
        })),
      ];
      await client.post('/responses', { model: 'anthropic', input }, { key });
      t.same(calls.anthropic.at(-1)?.body.messages[1].content, anthropicMessage.content);

      const asked = {
        model: 'openai-responses',
        max_tokens: 100,
        messages: [{ role: 'user', content: 'Hi' }] as object[],
      };
      const { body: message } = await client.post('/messages', asked, { key });
      asked.messages.push(
        { role: 'assistant', content: message.content },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'call_unDw3TjSk2', content: 'Sunny.' }],
        },
      );
      await client.post('/messages', asked, { key });
      const items: Body[] = calls['openai-responses'].at(-1)?.body.input;
      t.equal(items.find(({ type }) => type === 'reasoning')?.encrypted_content, SEAL);
    });
  },
);

t.test('the request log has token counts, attempts, and the time to the first output', async (t) => {
  const { env } = await startVendors(t);
  onEachDatabase(t, env, async (t, service) => {
    const { client } = service;
    const { cookie, key } = await newCaller(service);
    for (const stream of [false, true])
      for (const kind of vendorKinds) {
        const answer = await client.post('/responses', { model: kind, input: 'Hi', stream }, { key });
        const id = answer.headers.get('x-request-id');
        let row: Body;
        await eventually('the log has the tokens', async () => {
          [row] = (await client.get(`/requests?id=${id}`, { cookie })).body.data;
          return row?.output_tokens === 89;
        });
        t.match(row, { input_tokens: 472, cached_tokens: 52, attempts: 1 });
        t.equal(row.reasoning_tokens, kind === 'anthropic' ? null : 64);
        t.equal(
          typeof row.first_output_ms,
          stream ? 'number' : 'object',
          'only streams have a time to the first output',
        );
        t.notMatch(JSON.stringify(row), /"upstream"/, 'only operators see the upstream');
      }
  });
});

t.test('CHAT_KIND sets the kind of a single upstream', async (t) => {
  const { calls, url } = await wireServer(t, ({ method }) =>
    method === 'GET' ? { body: { data: [{ id: 'claude-x', type: 'model' }] } } : { body: anthropicMessage },
  );
  const service = await startTestService(t, 'embedded', { CHAT_KIND: 'anthropic', CHAT_URL: url });
  const { key } = await newCaller(service);
  const answer = await service.client.post('/chat', { message: 'Weather?' }, { key });
  t.equal(answer.status, 200, answer.text);
  t.match(answer.body.reply, 'Okay');
  t.same(
    calls.map(({ path }) => path),
    ['/v1/models?limit=1000', '/v1/messages'],
  );
});
