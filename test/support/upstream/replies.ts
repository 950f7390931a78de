/** The test upstream's replies to chats. Like a small model, it respects tools, formats, `n`, and usage. */
import { MODEL, type Settings } from './settings.ts';

type Json = Record<string, unknown>;
export type ChatBody = Json & {
  messages?: Json[];
  model?: string;
  n?: number;
  stream?: boolean;
  tools?: Json[];
};

/** The number of choices in a response. */
export const choicesOf = ({ n }: { n?: unknown }, { choices }: Settings): number =>
  choices > 0 ? choices : Number(n ?? 1);

/** A reply. Each piece counts as one token. A stream can have millions of pieces, so they are generated lazily. */
export type Reply = {
  pieces: Iterable<string>;
  toolCalls: Json[] | undefined;
  finishReason: string;
  usage: Json;
};

const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as Json[]).map((part) => part.text ?? '').join('');
};

/** Arguments that match a tool's schema: each required property, with a value of its type. */
function argumentsFor(parameters: Json | undefined): Json {
  const properties = (parameters?.properties ?? {}) as Record<string, Json>;
  const required = (parameters?.required ?? Object.keys(properties)) as string[];
  const values: Record<string, unknown> = {
    string: 'Paris',
    number: 1,
    integer: 1,
    boolean: true,
    array: [],
    object: {},
  };
  return Object.fromEntries(required.map((name) => [name, values[String(properties[name]?.type)] ?? null]));
}

type Called = { name: string; arguments: Json };

/** The tool call of this turn, if there is one. */
function calledTool(body: ChatBody, { calls }: Settings): Called | undefined {
  const offered = (body.tools ?? []).map((tool) => tool.function as { name: string; parameters?: Json });
  const messages = body.messages ?? [];
  if (calls !== null) {
    const call = calls[messages.filter(({ role }) => role === 'tool').length];
    return call && offered.some(({ name }) => name === call.name) ? call : undefined;
  }
  const [first] = messages.at(-1)?.role === 'user' ? offered : [];
  return first && { name: first.name, arguments: argumentsFor(first.parameters) };
}

const callOf = ({ arguments: given, name }: Called, turn: number): Json => ({
  id: `call_${turn}`,
  type: 'function',
  function: { name, arguments: JSON.stringify(given) },
});

function honestText(body: ChatBody, reply: string): string {
  const last = body.messages?.at(-1);
  const said = textOf(last?.content);
  if (reply !== '') return reply;
  const text = last?.role === 'tool' ? `The tool says: ${said}` : `You said: ${said}`;
  return (body.response_format as Json | undefined)?.type?.toString().startsWith('json')
    ? JSON.stringify({ answer: text })
    : text;
}

/** ` 0xx`, ` 1xx`, … */
function* filler(count: number, size: number): Generator<string> {
  for (let number = 0; number < count; number += 1) yield ` ${number}`.padEnd(size, 'x').slice(0, size);
}

/** The reply to a request of chat completions. */
export function replyTo(body: ChatBody, settings: Settings): Reply {
  const tool = calledTool(body, settings);
  const turn = (body.messages ?? []).filter(({ role }) => role === 'tool').length + 1;
  const limit = Number(body.max_completion_tokens ?? body.max_tokens ?? Number.POSITIVE_INFINITY);
  const words = honestText(body, settings.reply).match(/\s*\S+/g) ?? [];
  const wanted = tool ? 0 : settings.chunks || words.length;
  const count = Math.min(wanted, limit);

  const prompt = (body.messages ?? []).reduce(
    (sum, { content }) => sum + (textOf(content).match(/\S+/g)?.length ?? 0),
    0,
  );
  const completion = (tool ? 5 : count) * choicesOf(body, settings);
  const counted = settings.usage === 'zero' ? [0, 0] : [prompt, completion];
  const [promptTokens = 0, completionTokens = 0] = counted;
  return {
    pieces: settings.chunks > 0 ? filler(count, settings.chunkSize) : words.slice(0, count),
    toolCalls: tool && [callOf(tool, turn)],
    finishReason: tool ? 'tool_calls' : count < wanted ? 'length' : 'stop',
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  };
}

/** The first fields of chunks and whole responses. */
export const headOf = (body: ChatBody, settings: Settings, object: string): Json =>
  settings.bare
    ? { object, model: body.model ?? MODEL }
    : {
        id: 'chatcmpl-test',
        object,
        created: 1_763_596_800,
        model: `${body.model ?? MODEL}-2026-01-01`,
        system_fingerprint: 'fp_test',
        service_tier: 'test',
      };

/** Log probabilities for the pieces of a reply. */
export const logprobsOf = (pieces: readonly string[]): Json => ({
  content: pieces.map((token) => ({ token, logprob: -0.5, bytes: null, top_logprobs: [] })),
  refusal: null,
});

/** The whole response. */
export function completionOf(body: ChatBody, settings: Settings): Json {
  const { finishReason, pieces: made, toolCalls, usage } = replyTo(body, settings);
  const pieces = [...made];
  const message = {
    role: 'assistant',
    content: toolCalls ? null : pieces.join(''),
    ...(toolCalls && { tool_calls: toolCalls }),
    ...(!settings.bare && { refusal: null, annotations: [] }),
  };
  return {
    ...headOf(body, settings, 'chat.completion'),
    choices: Array.from({ length: choicesOf(body, settings) }, (_, index) => ({
      index,
      message,
      ...(!settings.bare && { logprobs: body.logprobs ? logprobsOf(pieces) : null }),
      finish_reason: finishReason,
    })),
    ...(settings.usage !== 'never' && { usage }),
  };
}
