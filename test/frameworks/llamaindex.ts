import { AnthropicSession, anthropic } from '@llamaindex/anthropic';
import type {
  ChatMessage,
  PartialToolCall,
  ToolCall,
  ToolCallLLM,
  ToolCallLLMMessageOptions,
} from '@llamaindex/core/llms';
import { tool } from '@llamaindex/core/tools';
import { extractText } from '@llamaindex/core/utils';
import { openaiResponses } from '@llamaindex/openai';
import { z } from 'zod';
import {
  anthropicBaseOf,
  type Connection,
  clientRefusal,
  type FollowUp,
  type Framework,
  weather,
} from './frameworks.ts';

/** The events that carry text. With the Responses API, the chunks of other events repeat the last delta. */
const textEvents = ['response.output_text.delta', 'content_block_delta'];

type Model = (connection: Connection, signal?: AbortSignal) => ToolCallLLM;
type Call = ToolCall | PartialToolCall;
type Message = ChatMessage<ToolCallLLMMessageOptions>;

const openai =
  (store: boolean): Model =>
  ({ apiKey, baseURL, model }, signal) =>
    openaiResponses({
      ...{ apiKey, baseURL, model, store },
      ...(signal && { additionalSessionOptions: { fetch: fetchUntil(signal) } }),
    });

/** LlamaIndex has no other way to abort a reply: leaving the loop over a stream does not abort the request. */
const fetchUntil =
  (signal: AbortSignal): typeof fetch =>
  (url, init) =>
    fetch(url, { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) });

const anthropicLlm: Model = (connection, signal) => {
  const { apiKey, model } = connection;
  const options = {
    apiKey,
    baseURL: anthropicBaseOf(connection),
    ...(signal && { fetch: fetchUntil(signal) }),
  };
  return anthropic({ model, session: new AnthropicSession(options) });
};

function weatherTool() {
  const cities: string[] = [];
  const lookUp = tool({
    name: weather.name,
    description: weather.description,
    parameters: z.object({ city: z.string() }),
    execute: ({ city }) => {
      cities.push(city);
      return weather.result;
    },
  });
  return { cities, lookUp };
}

/** Runs the tool for each call. Returns a message for each result. */
async function resultsOf(calls: readonly Call[], lookUp: ReturnType<typeof weatherTool>['lookUp']) {
  const results: Message[] = [];
  for (const { id, input } of calls) {
    const given = (typeof input === 'string' ? JSON.parse(input) : input) as { city: string };
    const result = String(await lookUp.call(given));
    results.push({
      role: 'user',
      content: result,
      options: { toolResult: { id, result, isError: false } },
    });
  }
  return results;
}

const roundTrip = (modelFor: Model) => async (connection: Connection) => {
  const { cities, lookUp } = weatherTool();
  const llm = modelFor(connection);
  const messages: Message[] = [{ role: 'user', content: weather.question }];
  const { message } = await llm.chat({ messages, tools: [lookUp] });
  const calls = message.options && 'toolCall' in message.options ? message.options.toolCall : [];
  messages.push(message, ...(await resultsOf(calls, lookUp)));
  const { message: last } = await llm.chat({ messages, tools: [lookUp] });
  return { text: extractText(last.content), cities };
};

const streamedRoundTrip = (modelFor: Model) => async (connection: Connection) => {
  const { cities, lookUp } = weatherTool();
  const llm = modelFor(connection);
  const messages: Message[] = [{ role: 'user', content: weather.question }];
  const calls = new Map<string, Call>();
  for await (const { options } of await llm.chat({ messages, tools: [lookUp], stream: true }))
    if (options && 'toolCall' in options) for (const call of options.toolCall) calls.set(call.id, call);
  const toolCall = [...calls.values()] as ToolCall[];
  messages.push({ role: 'assistant', content: '', options: { toolCall } });
  messages.push(...(await resultsOf(toolCall, lookUp)));
  const { message: last } = await llm.chat({ messages, tools: [lookUp] });
  return { text: extractText(last.content), cities };
};

const followUp =
  (modelFor: Model): FollowUp =>
  async (connection, first, second) => {
    const llm = modelFor(connection);
    const messages: Message[] = [{ role: 'user', content: first }];
    const { message } = await llm.chat({ messages });
    // Without its options: an empty list of tool calls makes LlamaIndex leave the message out.
    messages.push({ role: 'assistant', content: message.content }, { role: 'user', content: second });
    return extractText((await llm.chat({ messages })).message.content);
  };

const common = (modelFor: Model) =>
  ({
    requestsWhenSpent: 1,
    async *stream(connection, prompt, signal) {
      const messages: Message[] = [{ role: 'user', content: prompt }];
      for await (const { delta, raw } of await modelFor(connection, signal).chat({ messages, stream: true }))
        if (textEvents.includes((raw as { type: string }).type)) yield delta;
    },
    async ask(connection, prompt) {
      const messages: Message[] = [{ role: 'user', content: prompt }];
      const { message, raw } = await modelFor(connection).chat({ messages });
      const { usage } = raw as { usage: { input_tokens: number; output_tokens: number } };
      return { text: extractText(message.content), usage: [usage.input_tokens, usage.output_tokens] };
    },
    refusal: clientRefusal,
  }) satisfies Partial<Framework>;

export const llamaIndexResponses: Framework = {
  ...common(openai(false)),
  name: 'LlamaIndex',
  packages: ['@llamaindex/core', '@llamaindex/openai'],
  followUps: { history: followUp(openai(false)) },
  tools: {
    stored: roundTrip(openai(true)),
    'store: false': roundTrip(openai(false)),
    streamed: streamedRoundTrip(openai(false)),
  },
};

export const llamaIndexMessages: Framework = {
  ...common(anthropicLlm),
  name: 'LlamaIndex',
  packages: ['@llamaindex/core', '@llamaindex/anthropic'],
  followUps: { history: followUp(anthropicLlm) },
  tools: { whole: roundTrip(anthropicLlm), streamed: streamedRoundTrip(anthropicLlm) },
};
