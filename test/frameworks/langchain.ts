import { ChatAnthropic } from '@langchain/anthropic';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import {
  type AIMessageChunk,
  HumanMessage,
  type ToolMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai';
import { z } from 'zod';
import {
  anthropicBaseOf,
  type Connection,
  clientRefusal,
  type FollowUp,
  type Framework,
  weather,
} from './frameworks.ts';

const openai = ({ apiKey, baseURL, model }: Connection, fields: ChatOpenAIFields = {}) =>
  new ChatOpenAI({ apiKey, model, configuration: { baseURL }, useResponsesApi: true, ...fields });

const anthropic: ToolChat = (connection) =>
  new ChatAnthropic({
    apiKey: connection.apiKey,
    model: connection.model,
    anthropicApiUrl: anthropicBaseOf(connection),
  });

type ToolChat = (connection: Connection) => BaseChatModel;

function weatherTool() {
  const cities: string[] = [];
  const lookUp = tool(
    async ({ city }: { city: string }) => {
      cities.push(city);
      return weather.result;
    },
    { name: weather.name, description: weather.description, schema: z.object({ city: z.string() }) },
  );
  return { cities, lookUp };
}

/** Sends a prompt, runs the tools that the reply calls, and sends their results. */
const roundTrip = (chatFor: ToolChat, isStreamed: boolean) => async (connection: Connection) => {
  const { cities, lookUp } = weatherTool();
  const chat = chatFor(connection).bindTools?.([lookUp]);
  if (chat === undefined) throw new Error('This model does not support tools.');
  const asked = new HumanMessage(weather.question);
  let answer: AIMessageChunk | undefined;
  if (isStreamed)
    for await (const chunk of await chat.stream([asked]))
      answer = answer === undefined ? chunk : answer.concat(chunk);
  else answer = await chat.invoke([asked]);
  if (answer === undefined) throw new Error('The stream was empty.');
  const results: ToolMessage[] = [];
  for (const call of answer.tool_calls ?? [])
    results.push(await lookUp.invoke({ ...call, type: 'tool_call' }));
  const { text } = await chat.invoke([asked, answer, ...results]);
  return { text, cities };
};

const followUp =
  (chatFor: ToolChat): FollowUp =>
  async (connection, first, second) => {
    const chat = chatFor(connection);
    const messages = [new HumanMessage(first)];
    const answer = await chat.invoke(messages);
    return (await chat.invoke([...messages, answer, new HumanMessage(second)])).text;
  };

const common = (chatFor: ToolChat) =>
  ({
    requestsWhenSpent: 1,
    refusal: clientRefusal,
    async ask(connection, prompt) {
      const { text, usage_metadata } = await chatFor(connection).invoke(prompt);
      // `exactOptionalPropertyTypes` loses the type of the field.
      const usage = usage_metadata as UsageMetadata | undefined;
      return { text, usage: [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0] };
    },
    async *stream(connection, prompt, signal) {
      for await (const { text } of await chatFor(connection).stream(prompt, { signal }))
        if (text !== '') yield text;
    },
  }) satisfies Partial<Framework>;

export const langChainResponses: Framework = {
  ...common(openai),
  name: 'LangChain',
  packages: ['@langchain/core', '@langchain/openai'],
  followUps: {
    history: followUp(openai),
    async previous_response_id(connection, first, second) {
      const chat = openai(connection);
      const { id } = await chat.invoke(first);
      return (await chat.invoke(second, { previous_response_id: id ?? null })).text;
    },
  },
  tools: {
    stored: roundTrip(openai, false),
    'zero data retention': roundTrip((connection) => openai(connection, { zdrEnabled: true }), false),
    streamed: roundTrip(openai, true),
  },
};

export const langChainMessages: Framework = {
  ...common(anthropic),
  name: 'LangChain',
  packages: ['@langchain/core', '@langchain/anthropic'],
  followUps: { history: followUp(anthropic) },
  tools: { whole: roundTrip(anthropic, false), streamed: roundTrip(anthropic, true) },
};
