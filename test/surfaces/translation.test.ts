// Random conversations in the format of each surface reach an upstream of each API as the same messages, tools, and
// options. Random replies from an upstream of each API are the same on each surface, streamed or not.
//
// The tests do not generate anything that an API cannot express:
// - Chat completions: images and documents in a tool result, and the order of thoughts, texts, and calls in a turn (see
//   `turns.test.ts`). Clients of the Responses and Messages APIs lose these only with a chat completions upstream. A
//   mix of signed and unsigned thoughts, and whether a tool failed: these are lost with every upstream of another API.
// - Responses: a stop sequence.
// - Messages: later system messages, which become part of a user message for most models. Tool call arguments that are
//   not a JSON object, a refusal separate from text, text without a visible character, the name of a schema, and
//   whether it is strict. The efforts `none` and `minimal`. OpenAI's annotations and log probabilities, just as
//   Anthropic's citations have no equivalent elsewhere (see `text-details.test.ts`).
// - Responses and Messages upstreams: reasoning from another model, or without a signature.
// - APIs other than chat completions: its `allowed_tools`.
import fc from 'fast-check';
import t from 'tap';
import { checkNamedSources, checkOriginalSources } from '../../src/domain/named-sources.ts';
import type { ChatQuery } from '../../src/engines/dialects/dialect.ts';
import { dialects } from '../../src/engines/dialects/index.ts';
import { MESSAGES_FORMAT, RESPONSES_FORMAT } from '../../src/engines/reasoning-details.ts';
import type { CompletionChunk, CompletionInput, OriginalRequest } from '../../src/engines/types.ts';
import { completionOf as settled } from '../../src/engines/upstream/answers.ts';
import { ChunkReader } from '../../src/engines/upstream/chunks.ts';
import type { JsonObject } from '../../src/engines/upstream/json.ts';
import { AnswerBlocks, blocksOf } from '../../src/surfaces/answer-blocks.ts';
import { wholeMessage } from '../../src/surfaces/messages-answer.ts';
import { messagesWriter } from '../../src/surfaces/messages-events.ts';
import { messagesInput } from '../../src/surfaces/messages-request.ts';
import { originalMessages, originalResponse } from '../../src/surfaces/passthrough.ts';
import { endedResponse } from '../../src/surfaces/response-answer.ts';
import { responseWriter } from '../../src/surfaces/response-events.ts';
import { completionInput, inputItems, type ResponseBody } from '../../src/surfaces/response-request.ts';
import { ResponseTools } from '../../src/surfaces/response-tools.ts';
import type { SurfaceWriter } from '../../src/surfaces/surface-script.ts';
import type { DialectKind } from '../../src/upstreams-file/schema.ts';
import {
  type Options,
  options,
  optionsIn,
  optionsInCompletions,
  optionsInMessages,
  optionsInResponses,
} from '../support/conversation-options.ts';
import {
  inCompletions,
  inMessages,
  inResponses,
  inWordsOfCompletions,
  resultFilesInMessages,
  resultFilesInResponses,
  type Talk,
  type Thought,
  talk,
  withRemindersOfUser,
  withThoughtsOf,
} from '../support/conversations.ts';
import { eventsOf, type ServerEvent } from '../support/event-reader.ts';
import type { Body } from '../support/http.ts';
import {
  type Answer,
  answer,
  assembled,
  chunksOf,
  completionOf,
  fromMessage,
  fromResponse,
  read,
  tokens,
} from '../support/model-answers.ts';

const RUNS = { numRuns: 300 };
const MODEL = 'test-model';
const noTools = new ResponseTools([]);
const broken = (why: string, text = '') => new Error(`${why} ${text}`);

type Said = { input: CompletionInput; original?: OriginalRequest };

/** A conversation in the format of each surface: converted to chat completions, and in its pass-through form. */
const surfaces: Record<string, (talk: Talk, options: Options) => Said> = {
  completions: (talk, options) => ({
    input: {
      ...{ model: MODEL, messages: inCompletions(talk) },
      ...optionsInCompletions(options),
    } as CompletionInput,
  }),
  responses(talk, options) {
    const body: ResponseBody = { ...inResponses(talk), ...optionsInResponses(options) };
    const items = inputItems(body);
    const tools = new ResponseTools(body.tools ?? []);
    return {
      input: completionInput(body, MODEL, items, tools),
      original: originalResponse(body, items, tools),
    };
  },
  messages(talk, options) {
    const body = { ...inMessages(talk), ...optionsInMessages(options) } as never;
    return { input: messagesInput(body, MODEL), original: originalMessages(body, undefined) };
  },
};

/** The parts of tool results that are not text. */
const filesIn = (results: unknown[]): unknown[] =>
  results
    .filter((result) => Array.isArray(result))
    .flat()
    .filter(({ type }: Body) => type !== 'text' && type !== 'input_text');

/** Reads the request body for an upstream of each API, as chat completions. */
const upstreams = {
  openai: {
    read: (body: JsonObject) => body,
    keeps: (original: Talk) => original,
    resultFiles: { sent: () => [], asked: () => [] },
  },
  'openai-responses': {
    read(body: JsonObject) {
      const tools = new ResponseTools((body.tools ?? []) as unknown[]);
      return completionInput(body as ResponseBody, MODEL, body.input as unknown[], tools);
    },
    keeps: (original: Talk) => withThoughtsOf(RESPONSES_FORMAT, original),
    resultFiles: {
      sent: ({ input }: Body) =>
        filesIn(
          input.filter(({ type }: Body) => type === 'function_call_output').map(({ output }: Body) => output),
        ),
      asked: resultFilesInResponses,
    },
  },
  anthropic: {
    read: (body: JsonObject) => messagesInput(body as never, MODEL),
    keeps: (original: Talk) => withRemindersOfUser(withThoughtsOf(MESSAGES_FORMAT, original)),
    resultFiles: {
      sent: ({ messages }: Body) =>
        filesIn(
          messages
            .flatMap(({ content }: Body) => content)
            .filter(({ type }: Body) => type === 'tool_result')
            .map(({ content }: Body) => content),
        ),
      asked: resultFilesInMessages,
    },
  },
} as const satisfies Record<DialectKind, unknown>;
const kinds = Object.keys(upstreams) as (keyof typeof upstreams)[];

for (const [surface, translate] of Object.entries(surfaces))
  for (const kind of kinds)
    t.test(`conversations from ${surface} clients reach ${kind} upstreams`, async (t) => {
      fc.assert(
        fc.property(talk, options, (any, asking) => {
          const given = surface === 'completions' ? inWordsOfCompletions(any) : any;
          const { keeps, read: readBy, resultFiles } = upstreams[kind];
          const { input, original } = translate(given, asking);
          const asked: ChatQuery = {
            input,
            model: MODEL,
            isStream: false,
            original,
            maxOutputTokens: undefined,
          };
          t.same(input.messages, inCompletions(given), 'as chat completions');
          const body = dialects[kind].body(asked);
          t.same(resultFiles.sent(body), resultFiles.asked(given.turns));
          const reads = readBy(body) as JsonObject;
          const kept =
            surface === 'messages' && kind === 'anthropic'
              ? withThoughtsOf(MESSAGES_FORMAT, given)
              : keeps(given);
          t.same(reads.messages, inCompletions(kept));
          t.same(optionsIn(reads), optionsInCompletions(asking));
          checkNamedSources(input, new Set());
          if (original !== undefined) checkOriginalSources(original.body(), new Set());
          return t.passing();
        }),
        RUNS,
      );
    });

const context = { id: '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f', model: MODEL };
const response = { ...context, body: { input: 'x' } as ResponseBody, tools: noTools, createdAt: 1 };
const message = { ...context, stopSequences: [] };

function streamed(writer: SurfaceWriter, chunks: readonly CompletionChunk[]): ServerEvent[] {
  const blocks = new AnswerBlocks(writer);
  const text = chunks.map((chunk) => blocks.add(chunk)).join('');
  return eventsOf(writer.start() + text + blocks.end() + writer.end(blocks, tokens));
}

const itemsIn = (events: readonly ServerEvent[]): Body[] =>
  events.flatMap(({ data }) => (data.type === 'response.output_item.done' ? [data.item] : []));

/** Replies from an upstream of each API. */
const answers: Record<
  keyof typeof upstreams,
  {
    whole(given: Answer): Body;
    events(chunks: readonly CompletionChunk[]): Body[];
    canThink(thought: Thought): boolean;
  }
> = {
  openai: { whole: completionOf, events: (chunks) => [...chunks], canThink: () => true },
  'openai-responses': {
    canThink: ({ seal }) => seal === undefined || seal.format === RESPONSES_FORMAT,
    whole: (given) => endedResponse(response, blocksOf(completionOf(given)), tokens),
    events: (chunks) => streamed(responseWriter(response), chunks).map(({ data }) => data),
  },
  anthropic: {
    // Anthropic signs all its reasoning.
    canThink: ({ seal }) => seal?.format === MESSAGES_FORMAT,
    whole: (given) => wholeMessage(message, blocksOf(completionOf(given)), tokens),
    events: (chunks) => streamed(messagesWriter(message, 5), chunks).map(({ data }) => data),
  },
};

const input = { model: MODEL, messages: [] } as CompletionInput;

function chunksFrom(kind: keyof typeof upstreams, events: readonly Body[]): CompletionChunk[] {
  const reader = dialects[kind].events(broken);
  const chunks = new ChunkReader(input, broken);
  // The reader modifies its input, so each event is copied first.
  const read = events.flatMap((event) =>
    reader.read({ data: JSON.stringify(event), event: undefined, id: undefined }),
  );
  return [...read.flatMap((chunk) => chunks.chunk(chunk) ?? []), chunks.last(true)];
}

for (const kind of kinds)
  t.test(`replies from ${kind} upstreams are the same on every surface`, async (t) => {
    fc.assert(
      fc.property(answer, fc.integer({ min: 1, max: 7 }), fc.boolean(), (any, size, isInterleaved) => {
        const given = { ...any, thoughts: any.thoughts.filter(answers[kind].canThink) };
        const expected = read(given);
        const whole = dialects[kind].completion(structuredClone(answers[kind].whole(given)), broken);
        const blocks = blocksOf(settled(whole, input, broken));
        t.same(fromResponse(endedResponse(response, blocks, tokens)), expected);
        t.same(fromMessage(wholeMessage(message, blocks, tokens)), expected);

        const events = answers[kind].events(chunksOf(given, size, isInterleaved));
        const told = streamed(responseWriter(response), chunksFrom(kind, events));
        const { status } = told.at(-1)?.data.response ?? {};
        t.same(fromResponse(told.at(-1)?.data.response), expected);
        t.same(fromResponse({ output: itemsIn(told), status }), expected);
        t.same(
          fromMessage(assembled(streamed(messagesWriter(message, 5), chunksFrom(kind, events)))),
          expected,
        );
        return t.passing();
      }),
      RUNS,
    );
  });
