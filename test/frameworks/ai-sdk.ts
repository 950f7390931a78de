import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI, type OpenAIResponsesProviderOptions } from '@ai-sdk/openai';
import {
  APICallError,
  generateText,
  type LanguageModel,
  type ModelMessage,
  RetryError,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { z } from 'zod';
import { type Connection, type FollowUp, type Framework, weather } from './frameworks.ts';

// With Anthropic's API, the SDK warns about unknown models.
globalThis.AI_SDK_LOG_WARNINGS = false;

type Provider = (connection: Connection) => LanguageModel;

const openai: Provider = ({ apiKey, baseURL, model }) => createOpenAI({ apiKey, baseURL })(model);
const anthropic: Provider = ({ apiKey, baseURL, model }) => createAnthropic({ apiKey, baseURL })(model);

const storing = (store?: boolean) =>
  store === undefined
    ? {}
    : { providerOptions: { openai: { store } satisfies OpenAIResponsesProviderOptions } };

/** The arguments of a call that makes the model use the tool. */
const asking = (model: LanguageModel, cities: string[], store?: boolean) => ({
  model,
  prompt: weather.question,
  stopWhen: stepCountIs(2),
  tools: {
    [weather.name]: tool({
      description: weather.description,
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        cities.push(city);
        return weather.result;
      },
    }),
  },
  ...storing(store),
});

const roundTrip = (provider: Provider, store?: boolean) => async (connection: Connection) => {
  const cities: string[] = [];
  const { text } = await generateText(asking(provider(connection), cities, store));
  return { text, cities };
};

const streamedRoundTrip = (provider: Provider) => async (connection: Connection) => {
  const cities: string[] = [];
  const text = await streamText(asking(provider(connection), cities)).text;
  return { text, cities };
};

const followUp =
  (provider: Provider, store?: boolean): FollowUp =>
  async (connection, first, second) => {
    const model = provider(connection);
    const messages: ModelMessage[] = [{ role: 'user', content: first }];
    const { response } = await generateText({ model, messages, ...storing(store) });
    messages.push(...response.messages, { role: 'user', content: second });
    const { request, text } = await generateText({ model, messages, ...storing(store) });
    const refersToItems = JSON.stringify(request.body).includes('item_reference');
    if (refersToItems !== (provider === openai && store !== false))
      throw new Error(
        `The second request ${refersToItems ? 'refers' : 'does not refer'} to the first reply by its ID.`,
      );
    return text;
  };

const common = (provider: Provider) =>
  ({
    // The SDK retries a 429 twice and ignores `x-should-retry`.
    requestsWhenSpent: 3,
    async ask(connection, prompt) {
      const { text, usage } = await generateText({ model: provider(connection), prompt });
      return { text, usage: [usage.inputTokens ?? 0, usage.outputTokens ?? 0] };
    },
    async *stream(connection, prompt, abortSignal) {
      const errors: unknown[] = [];
      const onError = ({ error }: { error: unknown }) => void errors.push(error);
      yield* streamText({ model: provider(connection), prompt, abortSignal, onError }).textStream;
      if (errors.length > 0) throw errors[0];
    },
    refusal(error) {
      const last = RetryError.isInstance(error) ? error.lastError : error;
      if (!APICallError.isInstance(last)) throw error;
      return { status: last.statusCode, error: JSON.parse(last.responseBody ?? '').error };
    },
  }) satisfies Partial<Framework>;

/** By default, the AI SDK stores responses and refers to their messages by ID. */
export const aiSdkResponses: Framework = {
  ...common(openai),
  name: 'AI SDK',
  packages: ['ai', '@ai-sdk/openai'],
  followUps: { stored: followUp(openai), 'store: false': followUp(openai, false) },
  tools: {
    stored: roundTrip(openai),
    'store: false': roundTrip(openai, false),
    streamed: streamedRoundTrip(openai),
  },
};

export const aiSdkMessages: Framework = {
  ...common(anthropic),
  name: 'AI SDK',
  packages: ['ai', '@ai-sdk/anthropic'],
  followUps: { history: followUp(anthropic) },
  tools: { whole: roundTrip(anthropic), streamed: streamedRoundTrip(anthropic) },
};
