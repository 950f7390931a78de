/**
 * Servers in the documented formats of vendors that Parley calls through the AI SDK: Google's "Generating content",
 * Mistral's "Chat Completion API", and Cohere's "Chat API v2" with its streams.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import { type CreateProvider, loadProvider } from '../../../src/upstreams-file/packages.ts';
import type { Body } from '../http.ts';
import { CANARY } from './settings.ts';

/** A reply of a model. */
export type Said = { thought?: string; texts?: string[]; call?: { name: string; input: object } };

type Vendor = {
  package: string;
  /** The path of the base URL. */
  base: string;
  keyHeader: string;
  /** The header's value for a key. */
  keyValue(key: string): string;
  isStream(path: string, body: Body): boolean;
  whole(said: Said): Body;
  /** The data of the events of a stream. The last one or two contain the reason why it ended. */
  events(said: Said): unknown[];
  errorBody(status: number): Body;
};

const USAGE = { input: 400, cached: 52, output: 89, reasoning: 64 };
const callText = ({ input, name }: NonNullable<Said['call']>) => ({ name, arguments: JSON.stringify(input) });
const CALL_ID = 'a1B2c3D4e';

const googleUsage = {
  promptTokenCount: USAGE.input,
  cachedContentTokenCount: USAGE.cached,
  candidatesTokenCount: USAGE.output - USAGE.reasoning,
  thoughtsTokenCount: USAGE.reasoning,
  totalTokenCount: USAGE.input + USAGE.output,
};
const googleAnswer = (parts: object[], finishReason?: string) => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...(finishReason && { finishReason }) }],
  usageMetadata: googleUsage,
  modelVersion: 'gemini-2.5-flash',
  responseId: 'mAitaLmkHPPlz7IPvtfUqQ4',
});
const googleParts = ({ call, texts = [], thought }: Said): object[] => [
  ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
  ...texts.map((one) => ({ text: one })),
  ...(call === undefined ? [] : [{ functionCall: { name: call.name, args: call.input } }]),
];
const googleStatus: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  429: 'RESOURCE_EXHAUSTED',
};

const mistralUsage = {
  prompt_tokens: USAGE.input,
  completion_tokens: USAGE.output,
  total_tokens: USAGE.input + USAGE.output,
};
const mistralHead = { id: 'cmpl-e5cc70bb28c444948073e77776eb30ef', created: 1_702_256_327, model: 'their' };
const thinking = (thought: string) => ({ type: 'thinking', thinking: [{ type: 'text', text: thought }] });
const mistralCalls = (call: Said['call']) =>
  call === undefined
    ? {}
    : { tool_calls: [{ id: CALL_ID, type: 'function', function: callText(call), index: 0 }] };
const mistralEvent = (delta: object, finish: string | null = null) => ({
  ...{ ...mistralHead, object: 'chat.completion.chunk' },
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...(finish !== null && { usage: mistralUsage }),
});
const finishOf = ({ call }: Said) => (call === undefined ? 'stop' : 'tool_calls');

const cohereUsage = {
  billed_units: { input_tokens: USAGE.input, output_tokens: USAGE.output },
  tokens: { input_tokens: USAGE.input, output_tokens: USAGE.output },
};
const cohereCall = (call: NonNullable<Said['call']>) => ({
  ...{ id: CALL_ID, type: 'function' },
  function: callText(call),
});
const cohereFinish = ({ call }: Said) => (call === undefined ? 'COMPLETE' : 'TOOL_CALL');
const cohereBlock = (index: number, type: 'text' | 'thinking', texts: readonly string[]) => [
  { type: 'content-start', index, delta: { message: { content: { type, [type]: '' } } } },
  ...texts.map((one) => ({ type: 'content-delta', index, delta: { message: { content: { [type]: one } } } })),
  { type: 'content-end', index },
];

/** The formats of the vendors. */
export const vendors = {
  google: {
    package: '@ai-sdk/google',
    base: '/v1beta',
    keyHeader: 'x-goog-api-key',
    keyValue: (key) => key,
    isStream: (path) => path.includes(':streamGenerateContent'),
    whole: (said) => googleAnswer(googleParts(said), 'STOP'),
    events: (said) => [...googleParts(said).map((part) => googleAnswer([part])), googleAnswer([], 'STOP')],
    errorBody: (status) => ({
      error: { code: status, message: CANARY, status: googleStatus[status] ?? 'INTERNAL' },
    }),
  },
  mistral: {
    package: '@ai-sdk/mistral',
    base: '/v1',
    keyHeader: 'authorization',
    keyValue: (key) => `Bearer ${key}`,
    isStream: (_path, body) => body.stream === true,
    whole: (said) => ({
      ...{ ...mistralHead, object: 'chat.completion', usage: mistralUsage },
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: [
              ...(said.thought === undefined ? [] : [thinking(said.thought)]),
              ...(said.texts ?? []).map((one) => ({ type: 'text', text: one })),
            ],
            ...mistralCalls(said.call),
          },
          finish_reason: finishOf(said),
        },
      ],
    }),
    events: (said) => [
      mistralEvent({ role: 'assistant', content: '' }),
      ...(said.thought === undefined ? [] : [mistralEvent({ content: [thinking(said.thought)] })]),
      ...(said.texts ?? []).map((one) => mistralEvent({ content: one })),
      mistralEvent({ content: '', ...mistralCalls(said.call) }, finishOf(said)),
    ],
    errorBody: (status) =>
      status === 401
        ? { message: `Unauthorized ${CANARY}` }
        : { object: 'error', message: CANARY, type: 'invalid_request_error', param: null, code: '1800' },
  },
  cohere: {
    package: '@ai-sdk/cohere',
    base: '/v2',
    keyHeader: 'authorization',
    keyValue: (key) => `Bearer ${key}`,
    isStream: (_path, body) => body.stream === true,
    whole: (said) => ({
      id: 'c14c80c3-18eb-4519-9460-6c92edd8cfb4',
      finish_reason: cohereFinish(said),
      message: {
        role: 'assistant',
        content: [
          ...(said.thought === undefined ? [] : [{ type: 'thinking', thinking: said.thought }]),
          ...(said.texts ?? []).map((one) => ({ type: 'text', text: one })),
        ],
        ...(said.call && { tool_calls: [cohereCall(said.call)] }),
      },
      usage: cohereUsage,
    }),
    events: (said) => [
      { type: 'message-start', id: '29f14a5a-11de-4cae-9800-25e4747408ea', delta: { message: {} } },
      ...(said.thought === undefined ? [] : cohereBlock(0, 'thinking', [said.thought])),
      ...(said.texts === undefined ? [] : cohereBlock(1, 'text', said.texts)),
      ...(said.call === undefined
        ? []
        : [
            {
              type: 'tool-call-start',
              index: 0,
              delta: {
                message: {
                  tool_calls: { ...cohereCall(said.call), function: { name: said.call.name, arguments: '' } },
                },
              },
            },
            {
              type: 'tool-call-delta',
              index: 0,
              delta: { message: { tool_calls: { function: { arguments: callText(said.call).arguments } } } },
            },
            { type: 'tool-call-end', index: 0 },
          ]),
      { type: 'message-end', delta: { finish_reason: cohereFinish(said), usage: cohereUsage } },
    ],
    errorBody: () => ({ id: '6f2c', message: CANARY }),
  },
} satisfies Record<string, Vendor>;
export type VendorName = keyof typeof vendors;
export const vendorNames = Object.keys(vendors) as VendorName[];

const { resolve } = createRequire(new URL('../../clients/package.json', import.meta.url));
/** Loads the vendor's package. Returns its function that creates a provider. */
export const creatorOf = (vendor: VendorName): CreateProvider =>
  loadProvider(resolve(vendors[vendor].package));

export type ProviderCall = { path: string; headers: IncomingMessage['headers']; body: Body };

/**
 * How a server responds: with a reply, an error status, or a fault. Streams fail after their first output. `until`
 * delays a whole response, or the rest of a stream.
 */
export type Way =
  | (Said & { until?(): Promise<void> })
  | { status: number; headers?: Record<string, string> }
  | { fault: 'hang' | 'cut' | 'truncate' | 'bad-event' | 'endless' };

/**
 * Starts a server of a vendor, which stops when the test ends.
 *
 * @returns the base URL, `set` to choose how it responds and clear its state, and `state` with the calls and the time of
 * the last abort by a client
 */
export async function providerServer(t: Test, name: VendorName) {
  const vendor: Vendor = vendors[name];
  const state = { calls: [] as ProviderCall[], way: {} as Way, abortedAt: undefined as number | undefined };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = { path: request.url ?? '', headers: request.headers, body: JSON.parse(await text(request)) };
    state.calls.push(call);
    const { way } = state;
    response.on('close', () => {
      if (!response.writableFinished) state.abortedAt = Date.now();
    });
    if ('status' in way) {
      response.writeHead(way.status, { 'content-type': 'application/json', ...way.headers });
      response.end(JSON.stringify(vendor.errorBody(way.status)));
      return;
    }
    const isStream = vendor.isStream(call.path, call.body);
    const fault = 'fault' in way ? way.fault : undefined;
    const until = 'until' in way ? way.until : undefined;
    if (!isStream) {
      if (fault === 'hang') return;
      await until?.();
      response.writeHead(200, { 'content-type': 'application/json' });
      const body = JSON.stringify(vendor.whole(fault ? { texts: ['Hello'] } : (way as Said)));
      response.end(fault ? body.slice(0, -20) : body);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (data: unknown) => response.write(`data: ${JSON.stringify(data)}\n\n`);
    if (fault === undefined) {
      for (const [index, event] of vendor.events(way as Said).entries()) {
        if (index === 2) await until?.();
        write(event);
      }
      response.end(name === 'mistral' ? 'data: [DONE]\n\n' : undefined);
      return;
    }
    const last = name === 'cohere' ? 2 : 1;
    for (const event of vendor.events({ texts: ['Hello ', 'there'] }).slice(0, -last)) write(event);
    if (fault === 'truncate') response.end();
    if (fault === 'bad-event') response.end(`data: {"${CANARY}\n\n`);
    if (fault === 'cut') setImmediate(() => response.destroy());
    if (fault === 'endless') {
      const line = 'x'.repeat(1024 * 1024);
      const more = (): void => {
        while (!response.destroyed) if (!response.write(line)) return void response.once('drain', more);
      };
      more();
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error));
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${vendor.base}`,
    state,
    set(way: Way) {
      Object.assign(state, { calls: [], way, abortedAt: undefined });
    },
  };
}

/** The tokens that the servers report. */
export const usage = USAGE;
