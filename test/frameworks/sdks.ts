/** The SDKs of OpenAI and Anthropic without a framework. They run tools both by hand and with the SDKs' helpers. */
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import OpenAI from 'openai';
import { z } from 'zod';
import {
  anthropicBaseOf,
  type Connection,
  clientRefusal,
  type FollowUp,
  type Framework,
  weather,
} from './frameworks.ts';

const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const user = (content: string) => ({ role: 'user' as const, content });

/** A tool that records the cities it is called with. */
function weatherTool() {
  const cities: string[] = [];
  const run = ({ city }: { city: string }) => {
    cities.push(city);
    return weather.result;
  };
  return { cities, run, runJson: (given: string) => run(JSON.parse(given) as { city: string }) };
}

const openai = ({ apiKey, baseURL }: Connection) => new OpenAI({ apiKey, baseURL });

const chatTool = {
  type: 'function' as const,
  function: { name: weather.name, description: weather.description, parameters },
};

export const openaiChat: Framework = {
  name: 'OpenAI SDK',
  packages: ['openai'],
  requestsWhenSpent: 1,
  async ask(connection, prompt) {
    const { model } = connection;
    const { choices, usage } = await openai(connection).chat.completions.create({
      model,
      messages: [user(prompt)],
    });
    return {
      text: choices[0]?.message.content ?? '',
      usage: [usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0],
    };
  },
  async *stream(connection, prompt, signal) {
    const { model } = connection;
    const body = { model, messages: [user(prompt)], stream: true as const };
    for await (const { choices } of await openai(connection).chat.completions.create(body, { signal }))
      if (choices[0]?.delta.content) yield choices[0].delta.content;
  },
  followUps: {
    async messages(connection, first, second) {
      const { model } = connection;
      const { completions } = openai(connection).chat;
      const messages: OpenAI.ChatCompletionMessageParam[] = [user(first)];
      const { choices } = await completions.create({ model, messages });
      if (choices[0] !== undefined) messages.push(choices[0].message);
      const last = await completions.create({ model, messages: [...messages, user(second)] });
      return last.choices[0]?.message.content ?? '';
    },
  },
  tools: {
    async messages(connection) {
      const { model } = connection;
      const { completions } = openai(connection).chat;
      const { cities, runJson } = weatherTool();
      const messages: OpenAI.ChatCompletionMessageParam[] = [user(weather.question)];
      const { choices } = await completions.create({ model, messages, tools: [chatTool] });
      const [choice] = choices;
      if (choice === undefined) throw new Error('The completion has no choices.');
      messages.push(choice.message);
      for (const call of choice.message.tool_calls ?? [])
        if (call.type === 'function')
          messages.push({ role: 'tool', tool_call_id: call.id, content: runJson(call.function.arguments) });
      const last = await completions.create({ model, messages, tools: [chatTool] });
      return { text: last.choices[0]?.message.content ?? '', cities };
    },
    async runTools(connection) {
      const { cities, run } = weatherTool();
      const runner = openai(connection).chat.completions.runTools({
        model: connection.model,
        messages: [user(weather.question)],
        tools: [
          {
            type: 'function',
            function: {
              ...chatTool.function,
              parse: (given: string) => JSON.parse(given) as { city: string },
              function: run,
            },
          },
        ],
      });
      return { text: (await runner.finalContent()) ?? '', cities };
    },
  },
  refusal: clientRefusal,
};

const responseTool = {
  type: 'function' as const,
  name: weather.name,
  description: weather.description,
  parameters,
  strict: true,
};

/** Runs the tool for each call in a response. Returns the items with the results. */
const outputsOf = ({ output }: OpenAI.Responses.Response, runJson: (given: string) => string) =>
  output
    .filter((item) => item.type === 'function_call')
    .map((call) => ({
      type: 'function_call_output' as const,
      call_id: call.call_id,
      output: runJson(call.arguments),
    }));

export const openaiResponses: Framework = {
  ...openaiChat,
  async ask(connection, prompt) {
    const { model } = connection;
    const response = await openai(connection).responses.create({ model, input: prompt });
    return {
      text: response.output_text,
      usage: [response.usage?.input_tokens ?? 0, response.usage?.output_tokens ?? 0],
    };
  },
  async *stream(connection, prompt, signal) {
    const body = { model: connection.model, input: prompt, stream: true as const };
    for await (const event of await openai(connection).responses.create(body, { signal }))
      if (event.type === 'response.output_text.delta') yield event.delta;
  },
  followUps: {
    async input(connection, first, second) {
      const { model } = connection;
      const { responses } = openai(connection);
      const { output } = await responses.create({ model, input: first, store: false });
      const input = [user(first), ...output, user(second)] as OpenAI.Responses.ResponseInput;
      return (await responses.create({ model, input, store: false })).output_text;
    },
    async previousResponseId(connection, first, second) {
      const { model } = connection;
      const { responses } = openai(connection);
      const { id } = await responses.create({ model, input: first });
      return (await responses.create({ model, input: second, previous_response_id: id })).output_text;
    },
  },
  tools: {
    async input(connection) {
      const { model } = connection;
      const { responses } = openai(connection);
      const { cities, runJson } = weatherTool();
      const tools = [responseTool];
      const question = user(weather.question);
      const first = await responses.create({ model, input: [question], tools, store: false });
      const input = [
        question,
        ...first.output,
        ...outputsOf(first, runJson),
      ] as OpenAI.Responses.ResponseInput;
      return { text: (await responses.create({ model, input, tools, store: false })).output_text, cities };
    },
    async previousResponseId(connection) {
      const { model } = connection;
      const { responses } = openai(connection);
      const { cities, runJson } = weatherTool();
      const tools = [responseTool];
      const first = await responses.create({ model, input: weather.question, tools });
      const input = outputsOf(first, runJson);
      const last = await responses.create({ model, input, tools, previous_response_id: first.id });
      return { text: last.output_text, cities };
    },
  },
};

const anthropic = (connection: Connection) =>
  new Anthropic({ apiKey: connection.apiKey, baseURL: anthropicBaseOf(connection) });

const textOf = (content: readonly { type: string; text?: string }[]) =>
  content.map(({ text, type }) => (type === 'text' ? text : '')).join('');

const limit = { max_tokens: 1000 };

const anthropicFollowUp: FollowUp = async (connection, first, second) => {
  const { model } = connection;
  const { messages } = anthropic(connection);
  const asked = [user(first)];
  const { content, role } = await messages.create({ model, ...limit, messages: asked });
  const last = { model, ...limit, messages: [...asked, { role, content }, user(second)] };
  return textOf((await messages.create(last)).content);
};

export const anthropicMessages: Framework = {
  name: 'Anthropic SDK',
  packages: ['@anthropic-ai/sdk'],
  requestsWhenSpent: 1,
  async ask(connection, prompt) {
    const { model } = connection;
    const { content, usage } = await anthropic(connection).messages.create({
      ...{ model, ...limit },
      messages: [user(prompt)],
    });
    return { text: textOf(content), usage: [usage.input_tokens, usage.output_tokens] };
  },
  async *stream(connection, prompt, signal) {
    const body = { model: connection.model, ...limit, messages: [user(prompt)] };
    for await (const event of anthropic(connection).messages.stream(body, { signal }))
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') yield event.delta.text;
  },
  followUps: { messages: anthropicFollowUp },
  tools: {
    async messages(connection) {
      const { model } = connection;
      const { messages } = anthropic(connection);
      const { cities, run } = weatherTool();
      const tools = [{ name: weather.name, description: weather.description, input_schema: parameters }];
      const asked: Anthropic.MessageParam[] = [user(weather.question)];
      const { content, role } = await messages.create({ model, ...limit, tools, messages: asked });
      const results = content
        .filter((block) => block.type === 'tool_use')
        .map(({ id, input }) => ({
          type: 'tool_result' as const,
          tool_use_id: id,
          content: run(input as { city: string }),
        }));
      asked.push({ role, content }, { role: 'user', content: results });
      const last = await messages.create({ model, ...limit, tools, messages: asked });
      return { text: textOf(last.content), cities };
    },
    async toolRunner(connection) {
      const { cities, run } = weatherTool();
      const last = await anthropic(connection).beta.messages.toolRunner({
        ...{ model: connection.model, ...limit },
        messages: [user(weather.question)],
        tools: [
          betaZodTool({
            name: weather.name,
            description: weather.description,
            inputSchema: z.object({ city: z.string() }),
            run,
          }),
        ],
      });
      return { text: textOf(last.content), cities };
    },
  },
  refusal: clientRefusal,
};
