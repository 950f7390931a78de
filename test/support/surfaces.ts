/** The table of chat APIs, for tests that cover all of them. */
import type { ServerEvent } from './event-reader.ts';
import type { Body } from './http.ts';

export type Surface = {
  path: string;
  /** A request body with `text` as its prompt. The test upstream reads settings from `user`. */
  body(text: string, fields?: { stream?: boolean; user?: string }): Record<string, unknown>;
  /** The field that limits the tokens of a reply. */
  limit: 'max_tokens' | 'max_output_tokens';
  /** Fields that allow the longest reply that the service allows, if that is not the default. */
  longest?: { max_tokens: number };
  /** The reply's text in a whole response. */
  textOf(answer: Body): string;
  /** The reply's text in the events of a stream. */
  streamedText(events: readonly ServerEvent[]): string;
  /** Whether an event is the last one of a complete reply. */
  isEnd(event: ServerEvent): boolean;
  /** The code in an event that ends an incomplete reply; undefined for other events. */
  errorCodeOf(event: ServerEvent): string | undefined;
  /** The code of a stream that ends incomplete, if every form that clients read has it; otherwise undefined. */
  failureOf(events: readonly ServerEvent[]): string | undefined;
};

const joined = (events: readonly ServerEvent[], piece: (data: Body) => string | null | undefined) =>
  events.map(({ data }) => piece(data) ?? '').join('');

const codeInLast = (events: readonly ServerEvent[]): string | undefined => events.at(-1)?.data.error?.code;

/** Some clients of the Responses API read `response.failed`, and some `error`. */
function failedResponse(events: readonly ServerEvent[]): string | undefined {
  const [failed, error] = events.slice(-2);
  const { error: said, status } = failed?.data.response ?? {};
  const isFailed = failed?.event === 'response.failed' && status === 'failed' && error?.event === 'error';
  return isFailed && said.code === error.data.error.code ? said.code : undefined;
}

/** `POST /chat`, whose stream has Parley's own format. */
export const chatSurface: Omit<Surface, 'textOf'> = {
  path: '/chat',
  limit: 'max_output_tokens',
  body: (message, fields) => ({ message, ...fields }),
  streamedText: (events) => joined(events, ({ text }) => text),
  isEnd: ({ event }) => event === 'done',
  errorCodeOf: ({ data, event }) => (event === 'error' ? data.error.code : undefined),
  failureOf: codeInLast,
};

/** The APIs that follow those of OpenAI and Anthropic. */
export const surfaces: readonly Surface[] = [
  {
    path: '/chat/completions',
    limit: 'max_tokens',
    body: (text, fields) => ({ messages: [{ role: 'user', content: text }], ...fields }),
    textOf: (answer) => answer.choices[0].message.content,
    streamedText: (events) => joined(events, ({ choices }) => choices?.[0]?.delta?.content),
    isEnd: ({ data }) => data === '[DONE]',
    errorCodeOf: ({ data }) => data.error?.code,
    failureOf: codeInLast,
  },
  {
    path: '/responses',
    limit: 'max_output_tokens',
    body: (text, fields) => ({ input: text, ...fields }),
    textOf: (answer) => answer.output[0].content[0].text,
    streamedText: (events) => joined(events, ({ delta }) => delta),
    isEnd: ({ event }) => event === 'response.completed',
    errorCodeOf: ({ data, event }) => (event === 'error' ? data.error.code : undefined),
    failureOf: failedResponse,
  },
  {
    path: '/messages',
    limit: 'max_tokens',
    longest: { max_tokens: 1_000_000 },
    body: (text, { user, ...fields } = {}) => ({
      max_tokens: 1000,
      messages: [{ role: 'user', content: text }],
      ...(user !== undefined && { metadata: { user_id: user } }),
      ...fields,
    }),
    textOf: (answer) => answer.content[0].text,
    streamedText: (events) => joined(events, ({ delta }) => delta?.text),
    isEnd: ({ event }) => event === 'message_stop',
    errorCodeOf: ({ data, event }) => (event === 'error' ? data.error.code : undefined),
    failureOf: codeInLast,
  },
];
