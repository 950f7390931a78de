import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { deleteOldResponses } from '../../src/store/responses.ts';
import type { ServerEvent } from '../support/event-reader.ts';
import { onEachDatabase } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const typesOf = (events: ServerEvent[]) => events.map(({ data }) => data.type);
/** The body of the last chat request that reached the upstream. */
const asked = async () => {
  const chats = (await upstream.calls()).last.filter(({ path }) => path.endsWith('/chat/completions'));
  return chats.at(-1)?.body as Record<string, unknown>;
};

/** A complete reply from the upstream. */
const completion = (message: object, finish = 'stop', usage: object = {}) => ({
  completion: {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: MODEL,
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }],
    usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, ...usage },
  },
});

t.test('the built-in engine', async (t) => {
  onEachDatabase(t, {}, async (t, service) => {
    const { client } = service;
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);

    await t.test(
      'POST /responses 200: accepts a string, charges one unit, and stores the response',
      async (t) => {
        const answer = await client.post('/responses', { input: 'How do I create a key?' }, { key });
        t.match(answer, {
          status: 200,
          body: {
            id: /^resp_[0-9a-f]{32}$/,
            object: 'response',
            status: 'completed',
            output: [
              { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: /key/i }] },
            ],
            usage: { input_tokens: Number, output_tokens: Number, total_tokens: Number },
          },
        });
        t.match(await lastCharge(service, owner.accountId), { state: 'final', units: 1, status: 200 });
        const stored = await client.get(`/responses/${answer.body.id}`, { key });
        t.same(stored.body, answer.body);
        const items = await client.get(`/responses/${answer.body.id}/input_items`, { key });
        t.match(items.body, {
          data: [
            {
              ...{ type: 'message', role: 'user' },
              content: [{ type: 'input_text', text: 'How do I create a key?' }],
            },
          ],
          has_more: false,
        });
      },
    );

    await t.test(
      'POST /responses stream: numbers its events, ends with the whole response, and stores it',
      async (t) => {
        const answer = await client.post('/responses', { input: 'Hello', stream: true }, { key });
        const events: ServerEvent[] = answer.body;
        t.same(
          events.map(({ data }) => data.sequence_number),
          events.map((_, index) => index),
        );
        const types = typesOf(events);
        t.same(types.slice(0, 4), [
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.content_part.added',
        ]);
        t.same(types.slice(-4), [
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ]);
        t.ok(types.slice(4, -4).every((type) => type === 'response.output_text.delta'));
        const text = events.map(({ data }) => data.delta ?? '').join('');
        const last = events.at(-1)?.data.response;
        t.equal(last.output[0].content[0].text, text);
        t.same((await client.get(`/responses/${last.id}`, { key })).body, last);
      },
    );

    await t.test('stored responses are private to their key, and the web sees all of them', async (t) => {
      const { body } = await client.post('/responses', { input: 'Hello' }, { key });
      const other = await client.createKey(owner);
      const stranger = await client.createKey(await client.signUp());
      for (const { key: foreign } of [other, stranger]) {
        for (const path of [`/responses/${body.id}`, `/responses/${body.id}/input_items`])
          t.match(await client.get(path, { key: foreign }), {
            status: 404,
            body: { error: { code: 'notFound' } },
          });
        t.equal((await client.delete(`/responses/${body.id}`, { key: foreign })).status, 404);
        const continued = { input: 'And?', previous_response_id: body.id };
        t.match(await client.post('/responses', continued, { key: foreign }), {
          status: 404,
          body: { error: { param: 'previous_response_id' } },
        });
      }
      t.equal((await client.get(`/responses/${body.id}`, { cookie: owner.cookie })).status, 200);
      t.match(await client.delete(`/responses/${body.id}`, { key }), {
        status: 200,
        body: { id: body.id, object: 'response', deleted: true },
      });
      t.equal((await client.get(`/responses/${body.id}`, { key })).status, 404);
      t.equal((await client.delete(`/responses/${body.id}`, { key })).status, 404);
    });

    await t.test('store: false stores nothing', async (t) => {
      const { body } = await client.post('/responses', { input: 'Hello', store: false }, { key });
      t.equal(body.store, false);
      t.equal((await client.get(`/responses/${body.id}`, { key })).status, 404);
    });

    await t.test('a response expires after 30 days and is then deleted', async (t) => {
      const { db } = service.database;
      const { body } = await client.post('/responses', { input: 'Hello' }, { key });
      const count = async () => (await rowsOf(db, sql`select from stored_responses`)).length;
      const before = await count();
      const id = body.id.slice(5);
      await db.execute(
        sql`update stored_responses set created_at = created_at - interval '30 days' where id = ${id}::uuid`,
      );
      t.equal((await client.get(`/responses/${body.id}`, { key })).status, 404);
      await deleteOldResponses(db);
      t.equal(await count(), before - 1);
    });

    await t.test('a retry gets the same response, streamed or not', async (t) => {
      for (const stream of [false, true]) {
        const headers = { 'idempotency-key': crypto.randomUUID() };
        const body = { input: 'Hello', stream };
        const first = await client.post('/responses', body, { key, headers });
        const again = await client.post('/responses', body, { key, headers });
        t.equal(again.headers.get('idempotency-replayed'), 'true');
        if (stream) {
          t.same(again.body.at(-1).data.response, first.body.at(-1).data.response);
          t.equal(typesOf(again.body).filter((type) => type === 'response.output_text.delta').length, 1);
          t.same(
            again.body.map(({ data }: ServerEvent) => data.sequence_number),
            again.body.map((_: ServerEvent, index: number) => index),
          );
        } else t.same(again.body, first.body);
      }
    });

    await t.test('input_items paginate in both orders', async (t) => {
      const input = ['one', 'two', 'three'].map((content) => ({ role: 'user', content }));
      const { body } = await client.post('/responses', { input }, { key });
      const path = `/responses/${body.id}/input_items`;
      const first = await client.get(`${path}?limit=2&order=asc`, { key });
      const said = (text: string) => ({ type: 'message', content: [{ type: 'input_text', text }] });
      t.match(first.body, { data: [said('one'), said('two')], has_more: true });
      const second = await client.get(`${path}?limit=2&order=asc&after=${first.body.last_id}`, { key });
      t.match(second.body, { data: [said('three')], has_more: false });
      t.equal(second.body.data.length, 1);
      t.match((await client.get(path, { key })).body.data, [said('three'), {}, said('one')]);
      t.equal((await client.get(`${path}?after=nobody`, { key })).status, 404);
    });

    await t.test(
      'a request can continue a response without input, and reference items by ID only',
      async (t) => {
        const { body: first } = await client.post('/responses', { input: 'Hello', model: null }, { key });
        for (const input of [undefined, null, []]) {
          const answer = await client.post('/responses', { previous_response_id: first.id, input }, { key });
          t.equal(answer.status, 200, answer.text);
        }
        const [{ id }] = first.output;
        for (const type of [undefined, null, 'item_reference']) {
          const input = [
            { type: null, role: 'user', content: 'Hello' },
            { id, type },
            { role: 'user', content: 'And?' },
          ];
          const answer = await client.post('/responses', { input }, { key });
          t.equal(answer.status, 200, answer.text);
          const items = await client.get(`/responses/${answer.body.id}/input_items?order=asc`, { key });
          t.match(items.body.data, [{ type: 'message' }, { id, role: 'assistant' }, { role: 'user' }]);
        }
      },
    );

    await t.test(
      'GET /responses/{id} ignores include and starting_after, and rejects stream=true',
      async (t) => {
        const { body } = await client.post('/responses', { input: 'Hello' }, { key });
        const include = 'include=message.output_text.logprobs&include[]=x&starting_after=1';
        for (const query of [include, `stream=false&${include}`])
          t.same((await client.get(`/responses/${body.id}?${query}`, { key })).body, body);
        t.equal((await client.get(`/responses/${body.id}/input_items?${include}`, { key })).status, 200);
        t.match(await client.get(`/responses/${body.id}?stream=true`, { key }), {
          status: 400,
          body: { error: { code: 'invalidRequest', param: 'stream' } },
        });
      },
    );

    await t.test('invalid requests are not charged, and the error names the field', async (t) => {
      const used = async () => (await client.get('/usage', { key })).body.used.chat;
      const before = await used();
      const refusals: [object, string][] = [
        [{}, 'input'],
        [{ input: [] }, 'input'],
        [{ input: 'x', conversation: 'conv_1' }, 'conversation'],
        [{ input: 'x', prompt: { id: 'pmpt_1' } }, 'prompt'],
        [{ input: 'x', previous_response_id: 'nonsense' }, 'previous_response_id'],
        [{ input: [{ role: 'developer', content: 'Be brief.' }] }, 'input'],
        [{ input: [{ role: 'narrator', content: 'x' }] }, 'input.0.role'],
        [
          { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
          'input.0.content.0',
        ],
        [{ input: [{ type: 'function_call_output', output: 'x' }] }, 'input.0'],
        [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input.0.id'],
        [{ input: 'x', model: 'nobody' }, 'model'],
      ];
      for (const [body, param] of refusals) {
        const { body: answer, status } = await client.post('/responses', body, { key });
        t.match(
          { status, answer },
          { status: /^40[04]$/, answer: { error: { param } } },
          JSON.stringify(body),
        );
      }
      t.equal(await used(), before);
    });

    await t.test('unknown fields are ignored, and a header lists them', async (t) => {
      const body = {
        input: [{ role: 'user', content: 'Hello', novelty: 1 }],
        wonder: 1,
        service_tier: 'flex',
      };
      const answer = await client.post('/responses', body, { key });
      t.equal(answer.status, 200);
      t.equal(answer.headers.get('x-parley-ignored-fields'), 'wonder, service_tier');
    });
  });
});

t.test('an upstream', async (t) => {
  t.beforeEach(() => upstream.reset());
  onEachDatabase(t, { CHAT_URL: upstream.url }, async (t, service) => {
    const { client } = service;
    const { key } = await client.createKey(await client.signUp());

    await t.test('the conversation reaches the model as chat completion messages', async (t) => {
      const image = 'data:image/png;base64,AAAA';
      await client.post(
        '/responses',
        {
          instructions: 'Be brief.',
          input: [
            { role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
            { role: 'user', content: 'Weather?' },
            { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
            { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
            { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Paris"}' },
            { type: 'function_call', call_id: 'c2', name: 'map', namespace: 'maps', arguments: '{}' },
            { type: 'web_search_call', id: 'ws_1', status: 'completed' },
            { type: 'function_call_output', call_id: 'c1', output: 'Sun' },
            {
              type: 'function_call_output',
              call_id: 'c2',
              output: [
                { type: 'input_text', text: 'A map' },
                { type: 'input_image', image_url: image, detail: 'original' },
              ],
            },
            { role: 'user', content: [{ type: 'input_text', text: 'So?' }] },
          ],
          tools: [
            {
              type: 'function',
              name: 'weather',
              description: 'Tells',
              parameters: { type: 'object' },
              strict: true,
            },
            { type: 'namespace', name: 'maps', tools: [{ type: 'function', name: 'map', parameters: {} }] },
            { type: 'custom', name: 'patch', description: 'Patches' },
            { type: 'web_search' },
          ],
          tool_choice: { type: 'function', name: 'map', namespace: 'maps' },
          parallel_tool_calls: false,
          reasoning: { effort: 'low' },
          text: {
            format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
            verbosity: 'low',
          },
          max_output_tokens: 50,
          temperature: 0.5,
          top_p: 0.9,
          metadata: { topic: 'weather' },
        },
        { key },
      );
      const body = await asked();
      t.same(body.messages, [
        { role: 'system', content: 'Be brief.\n\nBe kind.' },
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: 'I look.',
          reasoning_content: 'Hm.',
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
            { id: 'c2', type: 'function', function: { name: 'maps__map', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'Sun' },
        { role: 'tool', tool_call_id: 'c2', content: 'A map' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Images in the result of c2:' },
            { type: 'image_url', image_url: { url: image, detail: 'high' } },
            { type: 'text', text: 'So?' },
          ],
        },
      ]);
      t.match(body, {
        tools: [
          { function: { name: 'weather', description: 'Tells', strict: true } },
          { function: { name: 'maps__map' } },
          { function: { name: 'patch', parameters: { required: ['input'] } } },
        ],
        tool_choice: { type: 'function', function: { name: 'maps__map' } },
        parallel_tool_calls: false,
        reasoning_effort: 'low',
        response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true } },
        verbosity: 'low',
        max_tokens: 50,
        temperature: 0.5,
        top_p: 0.9,
      });
      t.equal((body.tools as unknown[]).length, 3);
      t.notOk('metadata' in body || 'input' in body || 'instructions' in body);
    });

    await t.test('tool calls, reasoning, and refusals become output items, streamed or not', async (t) => {
      const call = (index: number, name: string, args: string) => ({
        index,
        id: `call_${index}`,
        type: 'function',
        function: { name, arguments: args },
      });
      const message = {
        content: 'Let me see.',
        reasoning_content: 'Hm.',
        tool_calls: [call(0, 'maps__map', '{"a":1}'), call(1, 'patch', '{"input":"*** Begin"}')],
      };
      const usage = {
        prompt_tokens_details: { cached_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 3 },
      };
      const tools = [
        { type: 'namespace', name: 'maps', tools: [{ type: 'function', name: 'map', parameters: {} }] },
        { type: 'custom', name: 'patch' },
      ];
      const output = [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
        { type: 'message', content: [{ type: 'output_text', text: 'Let me see.' }] },
        { type: 'function_call', call_id: 'call_0', name: 'map', namespace: 'maps', arguments: '{"a":1}' },
        { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '*** Begin' },
      ];
      await upstream.configure(completion(message, 'tool_calls', usage));
      const body = { input: 'Go', tools, reasoning: { summary: 'auto' } };
      const whole = await client.post('/responses', body, { key });
      t.match(whole.body, {
        status: 'completed',
        output,
        usage: { input_tokens_details: { cached_tokens: 2 }, output_tokens_details: { reasoning_tokens: 3 } },
      });

      const chunk = (delta: object, finish: string | null = null) =>
        JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: finish }] });
      // The second call starts before the arguments of the first are complete.
      await upstream.configure({
        events: [
          chunk({ role: 'assistant', reasoning_content: 'Hm.' }),
          chunk({ content: 'Let me ' }),
          chunk({ content: 'see.' }),
          chunk({ tool_calls: [call(0, 'maps__map', '{"a"')] }),
          chunk({ tool_calls: [call(1, 'patch', '{"input":"***')] }),
          chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
          chunk({ tool_calls: [{ index: 1, function: { arguments: ' Begin"}' } }] }),
          chunk({}, 'tool_calls'),
          '[DONE]',
        ],
      });
      const { body: events } = await client.post('/responses', { ...body, stream: true }, { key });
      t.match(events.at(-1).data.response.output, output);
      const depth = typesOf(events).map((type) =>
        type === 'response.output_item.added' ? 1 : type === 'response.output_item.done' ? -1 : 0,
      );
      let open = 0;
      for (const step of depth) {
        open += step;
        t.ok(open === 0 || open === 1, 'one item is open at a time');
      }
      const done = events.filter(({ data }: ServerEvent) => data.type === 'response.output_item.done');
      t.match(
        done.map(({ data }: ServerEvent) => data.item),
        output,
      );
      const deltas = (type: string) =>
        events
          .filter(({ data }: ServerEvent) => data.type === type)
          .map(({ data }: ServerEvent) => data.delta)
          .join('');
      t.equal(deltas('response.reasoning_summary_text.delta'), 'Hm.');
      t.equal(deltas('response.function_call_arguments.delta'), '{"a":1}');
      t.equal(deltas('response.custom_tool_call_input.delta'), '*** Begin');

      await upstream.configure(completion({ refusal: 'No.' }));
      const refusal = await client.post('/responses', { input: 'Go' }, { key });
      t.match(refusal.body.output, [{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }]);
    });

    await t.test('a response that reaches max_output_tokens is incomplete', async (t) => {
      for (const stream of [false, true]) {
        const body = { input: 'one two three four five', max_output_tokens: 2, stream };
        const { body: answer } = await client.post('/responses', body, { key });
        const response = stream ? answer.at(-1).data.response : answer;
        if (stream) t.equal(answer.at(-1).data.type, 'response.incomplete');
        t.match(response, {
          status: 'incomplete',
          incomplete_details: { reason: 'max_output_tokens' },
          output: [{ status: 'incomplete' }],
        });
      }
    });

    await t.test(
      'previous_response_id: the request starts with the input and output of all earlier responses',
      async (t) => {
        const first = await client.post('/responses', { instructions: 'Shout.', input: 'one' }, { key });
        const second = await client.post(
          '/responses',
          { input: 'two', previous_response_id: first.body.id, stream: true },
          { key },
        );
        const { id } = second.body.at(-1).data.response;
        const third = await client.post('/responses', { input: 'three', previous_response_id: id }, { key });
        t.equal(third.body.previous_response_id, id);
        t.same((await asked()).messages, [
          { role: 'user', content: 'one' },
          { role: 'assistant', content: 'You said: one' },
          { role: 'user', content: 'two' },
          { role: 'assistant', content: 'You said: two' },
          { role: 'user', content: 'three' },
        ]);
        const items = await client.get(`/responses/${third.body.id}/input_items`, { key });
        t.equal(items.body.data.length, 1, "a response's input items exclude earlier input");

        await client.delete(`/responses/${first.body.id}`, { key });
        const broken = await client.post('/responses', { input: 'four', previous_response_id: id }, { key });
        t.match(broken, { status: 400, body: { error: { param: 'previous_response_id' } } });
      },
    );

    await t.test('item_reference: inserts an item of a stored response', async (t) => {
      const first = await client.post('/responses', { input: 'one' }, { key });
      const [{ id }] = first.body.output;
      const input = [
        { type: 'item_reference', id },
        { role: 'user', content: 'two' },
      ];
      t.equal((await client.post('/responses', { input }, { key })).status, 200);
      t.same((await asked()).messages, [
        { role: 'assistant', content: 'You said: one' },
        { role: 'user', content: 'two' },
      ]);
      const { key: other } = await client.createKey(await client.signUp());
      t.equal((await client.post('/responses', { input }, { key: other })).status, 404);
    });

    await t.test('400 invalidRequest: an input that refers to more than 100 responses', async (t) => {
      const rich = await client.signUp();
      await client.put('/subscription', { plan: 'pro', billing_period: 'monthly' }, { cookie: rich.cookie });
      const { key: other } = await client.createKey(rich);
      const input: object[] = [];
      for (let count = 0; count < 101; count += 1) {
        const { body } = await client.post('/responses', { input: `Item ${count}` }, { key: other });
        input.push({ type: 'item_reference', id: body.output[0].id });
      }
      const last = { role: 'user', content: 'Go on.' };
      const ask = (items: object[]) => client.post('/responses', { input: [...items, last] }, { key: other });
      t.equal((await ask(input.slice(1))).status, 200);
      t.match(await ask(input), {
        status: 400,
        body: {
          error: { code: 'invalidRequest', message: /more than 100 responses/, param: 'input.100.id' },
        },
      });
    });

    await t.test('an interrupted stream ends with error events and is not stored', async (t) => {
      await upstream.configure({ chunks: 5, fault: 'truncate', faultAfter: 2 });
      const body = { input: 'Hello', stream: true };
      const { body: events } = await client.post('/responses', body, { key });
      t.same(typesOf(events).slice(-2), ['response.failed', 'error']);
      t.match(events.at(-1).data.error, { code: 'upstreamError', charged: true });
      const { id } = events[0].data.response;
      t.equal((await client.get(`/responses/${id}`, { key })).status, 404);
    });

    await t.test('a stream without finish_reason completes and is stored', async (t) => {
      await upstream.configure({ fault: 'no-finish' });
      const { body: events } = await client.post('/responses', { input: 'Hello', stream: true }, { key });
      t.equal(events.at(-1).event, 'response.completed');
      const { response } = events.at(-1).data;
      t.same((await client.get(`/responses/${response.id}`, { key })).body, response);
    });

    await t.test("URLs in the operator's network are rejected", async (t) => {
      const part = { type: 'input_image', image_url: 'http://10.0.0.1/x.png' };
      const answer = await client.post('/responses', { input: [{ role: 'user', content: [part] }] }, { key });
      t.match(answer, { status: 400, body: { error: { code: 'invalidRequest' } } });
    });
  });
});
