// If the plan limits tokens, the upstream always gets an output limit: every kind, on every surface. Contract section 15.
import t from 'tap';
import type { DialectKind } from '../../src/upstreams-file/schema.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { KEY } from '../support/upstream/engine.ts';
import { providerServer, vendorNames, vendors } from '../support/upstream/providers.ts';
import {
  anthropicEvents,
  anthropicMessage,
  eventText,
  openaiEvents,
  openaiResponse,
  wireServer,
} from '../support/upstream/wire.ts';
import { fileWithPackages } from '../support/upstreams-file.ts';

const DEFAULT = 900;
const MOST = 700;
const WINDOW = 600;
const messages = [{ role: 'user', content: 'Hi' }];
/** The field that limits the output, in each API. */
const requests = [
  { path: '/chat', body: { message: 'Hi', store: false }, field: 'max_output_tokens' },
  { path: '/chat/completions', body: { messages }, field: 'max_tokens' },
  { path: '/chat/completions', body: { messages }, field: 'max_completion_tokens' },
  { path: '/responses', body: { input: 'Hi', store: false }, field: 'max_output_tokens' },
  { path: '/messages', body: { messages }, field: 'max_tokens' },
] as const;

const head = { id: 'c', created: 1, model: 'theirs' };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const completion = {
  ...{ ...head, object: 'chat.completion', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};
const chunk = {
  ...{ ...head, object: 'chat.completion.chunk', usage },
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};
const dialects = {
  openai: {
    ...{ whole: completion, stream: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` },
    // Some servers ignore `max_completion_tokens`.
    limitIn: (body: Body) => body.max_tokens,
  },
  'openai-responses': {
    ...{ whole: openaiResponse, stream: eventText(openaiEvents as never) },
    limitIn: (body: Body) => body.max_output_tokens,
  },
  anthropic: {
    ...{ whole: anthropicMessage, stream: eventText(anthropicEvents as never) },
    limitIn: (body: Body) => body.max_tokens,
  },
} as const satisfies Record<DialectKind, unknown>;
const kinds = Object.keys(dialects) as (keyof typeof dialects)[];

t.test('with a token limit in the plan, every upstream request has an output limit', async (t) => {
  const upstreams = [
    ...(await Promise.all(
      kinds.map(async (kind) => {
        const { limitIn, stream, whole } = dialects[kind];
        const server = await wireServer(t, ({ body }) => ({ body: body?.stream ? stream : whole }));
        return { name: kind, kind, url: server.url, calls: () => server.calls, limitIn };
      }),
    )),
    ...(await Promise.all(
      vendorNames.map(async (name) => {
        const server = await providerServer(t, name);
        server.set({ texts: ['Hi'] });
        const calls = () => server.state.calls;
        const limitIn = (body: Body) =>
          name === 'google' ? body.generationConfig.maxOutputTokens : body.max_tokens;
        const at = { name, kind: 'ai-sdk', package: vendors[name].package, url: server.url };
        return { ...at, keyVariable: 'SDK_KEY', calls, limitIn };
      }),
    )),
  ];
  const env = fileWithPackages({
    upstreams: upstreams.map(({ calls: _, limitIn: __, ...upstream }) => upstream),
    models: upstreams.flatMap(({ name: upstream }) => [
      { name: upstream, targets: [{ upstream, model: 'theirs' }] },
      { name: `short-${upstream}`, targets: [{ upstream, model: 'theirs' }], maxOutputTokens: MOST },
      { name: `window-${upstream}`, targets: [{ upstream, model: 'theirs' }], contextTokens: WINDOW },
    ]),
  });
  const plans = plansFile(t, { tokens: 1_000_000 });
  const all = { ...env, ...plans, SDK_KEY: KEY, DEFAULT_MAX_OUTPUT_TOKENS: String(DEFAULT) };
  onEachDatabase(t, all, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    for (const { calls, limitIn, name } of upstreams)
      for (const { body, field, path } of requests)
        for (const { asked, model, sent, stream } of [
          // The Messages API requires a limit.
          { model: name, asked: path === '/messages' ? DEFAULT : undefined, sent: DEFAULT, stream: true },
          { model: name, asked: 50, sent: 50, stream: false },
          { model: `short-${name}`, asked: 800, sent: MOST, stream: false },
        ]) {
          const what = `${name} ${path} ${field} ${stream} ${asked}`;
          const limit = asked === undefined ? {} : { [field]: asked };
          const answer = await client.post(path, { ...body, model, stream, ...limit }, { key });
          t.equal(answer.status, 200, what);
          t.equal(limitIn(calls().at(-1)?.body), sent, what);
        }
    for (const { calls, limitIn, name } of upstreams)
      for (const path of ['/chat/completions', '/chat']) {
        const body = path === '/chat' ? { message: 'Hi', store: false } : { messages };
        const answer = await client.post(path, { ...body, model: `window-${name}` }, { key });
        t.equal(answer.status, 200);
        const sent = limitIn(calls().at(-1)?.body);
        t.ok(
          sent > WINDOW - 100 && sent < WINDOW - 10,
          `${name} ${path}: ${sent} leaves room for the prompt`,
        );
      }
  });
});
