// Images, tools, reasoning, and client disconnects, through packages of the AI SDK, on every surface. Contract section 15.
import t from 'tap';
import { inCompletions, inMessages, inResponses, type Talk } from '../support/conversations.ts';
import { openStream, type ServerEvent } from '../support/event-reader.ts';
import type { Body } from '../support/http.ts';
import { assembled, fromMessage, fromResponse } from '../support/model-answers.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { lastChargeBecomes } from '../support/spending.ts';
import { surfaces } from '../support/surfaces.ts';
import { eventually, KEY } from '../support/upstream/engine.ts';
import { providerServer, vendorNames, vendors } from '../support/upstream/providers.ts';
import { fileWithPackages } from '../support/upstreams-file.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const talk: Talk = {
  system: 'Be brief.',
  turns: [
    {
      parts: [{ text: 'What is this, and how is the weather?' }, { image: PNG }],
      thoughts: [],
      reminder: 'It is late.',
      answer: 'I will look.',
      calls: [
        {
          id: 'call00001',
          name: 'get_weather',
          args: { city: 'Paris' },
          result: 'It is 21 degrees.',
          files: [],
        },
      ],
    },
  ],
};
const tool = { name: 'get_weather', description: 'The weather of a city.' };
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const said = {
  thought: 'A question.',
  texts: ['Let me ', 'see.'],
  call: { name: 'get_weather', input: { city: 'Rome' } },
};
const wanted = { thoughts: ['A question.'], text: 'Let me see.', calls: [['get_weather', { city: 'Rome' }]] };

type Read = { thoughts: unknown[][]; text: string; calls: unknown[][] };
const plain = ({ calls, text, thoughts }: Read) => ({
  thoughts: thoughts.map(([thought]) => thought),
  text,
  calls: calls.map(([, ...call]) => call),
});

function fromCompletion({ choices: [{ message }] }: Body) {
  const { content, reasoning_content: thought, tool_calls: calls = [] } = message;
  return {
    thoughts: thought ? [thought] : [],
    text: content ?? '',
    calls: calls.map(({ function: { arguments: args, name } }: Body) => [name, JSON.parse(args)]),
  };
}

/** Assembles a completion from its chunks. */
function joined(events: readonly ServerEvent[]): Body {
  const deltas = events.flatMap(({ data }) => data.choices?.map(({ delta }: Body) => delta) ?? []);
  const all = (field: string) => deltas.map((delta) => delta[field] ?? '').join('');
  const calls: Body[] = [];
  for (const { function: called, index } of deltas.flatMap(({ tool_calls = [] }) => tool_calls)) {
    calls[index] ??= { function: { name: called.name, arguments: '' } };
    calls[index].function.arguments += called.arguments ?? '';
  }
  const message = { content: all('content'), reasoning_content: all('reasoning_content'), tool_calls: calls };
  return { choices: [{ message }] };
}

/** A conversation with tools in the format of each surface, and how its clients read a response. */
const clients = {
  '/chat/completions': {
    body: {
      messages: inCompletions(talk),
      tools: [{ type: 'function', function: { ...tool, parameters } }],
    },
    read: fromCompletion,
    readStream: (events: ServerEvent[]) => fromCompletion(joined(events)),
  },
  '/responses': {
    body: { ...inResponses(talk), tools: [{ type: 'function', ...tool, parameters }] },
    read: (answer: Body) => plain(fromResponse(answer)),
    readStream: (events: ServerEvent[]) => plain(fromResponse(events.at(-1)?.data.response)),
  },
  '/messages': {
    body: { ...inMessages(talk), tools: [{ ...tool, input_schema: parameters }] },
    read: (answer: Body) => plain(fromMessage(answer)),
    readStream: (events: ServerEvent[]) => plain(fromMessage(assembled(events))),
  },
};

t.test('every AI SDK vendor works on every surface', async (t) => {
  const servers = await Promise.all(vendorNames.map(async (name) => providerServer(t, name)));
  const env = fileWithPackages({
    upstreams: vendorNames.map((name, index) => ({
      ...{ name, kind: 'ai-sdk', package: vendors[name].package, url: servers[index]?.url },
      ...{ keyVariable: 'SDK_KEY', timeouts: { idleMs: 60_000 } },
    })),
    models: vendorNames.map((name) => ({ name, targets: [{ upstream: name, model: 'their-model' }] })),
  });
  onEachDatabase(t, { ...env, SDK_KEY: KEY, ...plansFile(t) }, async (t, service) => {
    const { client } = service;
    for (const [index, model] of vendorNames.entries()) {
      const { set, state } = servers[index] as (typeof servers)[number];
      const { accountId, ...owner } = await client.signUp();
      const { key } = await client.createKey(owner);

      await t.test(
        `${model}: images and tools reach the model, and reasoning and tool calls reach the client`,
        async (t) => {
          for (const [path, { body, read, readStream }] of Object.entries(clients))
            for (const stream of [false, true]) {
              const what = `${path} ${stream}`;
              set(said);
              const answer = await client.post(path, { ...body, model, stream }, { key });
              t.equal(answer.status, 200, what);
              t.match(stream ? readStream(answer.body) : read(answer.body), wanted, what);
              const sent = JSON.stringify(state.calls[0]?.body);
              for (const part of [
                'Be brief.',
                'It is late.',
                PNG,
                tool.description,
                'Paris',
                'It is 21 degrees.',
              ])
                t.ok(sent.includes(part), `${what}: ${part} is sent`);
            }
        },
      );

      await t.test(
        `${model}: a client disconnect aborts the upstream request, and the request is charged`,
        async (t) => {
          for (const { body, path } of surfaces) {
            set({ fault: 'hang' });
            const open = await openStream(client, path, { ...body('Hi', { stream: true }), model }, { key });
            await open.next();
            open.leave();
            await eventually(
              `${path}: the upstream stream is aborted`,
              async () => state.abortedAt !== undefined,
            );
            await lastChargeBecomes(service, accountId, { state: 'final', model });

            set({ fault: 'hang' });
            const leaving = new AbortController();
            const waiting = fetch(`${client.origin}/api/v1${path}`, {
              method: 'POST',
              headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
              body: JSON.stringify({ ...body('Hi'), model }),
              signal: leaving.signal,
            });
            waiting.catch(() => undefined);
            await eventually(
              `${path}: the upstream receives the request`,
              async () => state.calls.length === 1,
            );
            leaving.abort();
            await t.rejects(waiting, { name: 'AbortError' });
            await eventually(
              `${path}: the upstream request is aborted`,
              async () => state.abortedAt !== undefined,
            );
          }
          const used = async () => (await client.get('/usage', { key })).body.used.chat;
          await eventually(
            'six completed and six aborted requests are charged',
            async () => (await used()) === 12,
          );
        },
      );
    }
  });
});
