import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { type Connection, clientRefusal, type Framework, weather } from './frameworks.ts';

const runnerFor = ({ apiKey, baseURL }: Connection) =>
  // Tracing always sends data to OpenAI, regardless of the base URL.
  new Runner({ modelProvider: new OpenAIProvider({ apiKey, baseURL }), tracingDisabled: true });

const agentFor = ({ model }: Connection) => new Agent({ name: 'Assistant', model });

function weatherAgent({ model }: Connection, store?: boolean) {
  const cities: string[] = [];
  const lookUp = tool({
    name: weather.name,
    description: weather.description,
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      cities.push(city);
      return weather.result;
    },
  });
  const modelSettings = store === undefined ? {} : { store };
  return { agent: new Agent({ name: 'Assistant', model, tools: [lookUp], modelSettings }), cities };
}

const roundTrip = (store?: boolean) => async (connection: Connection) => {
  const { agent, cities } = weatherAgent(connection, store);
  const { finalOutput } = await runnerFor(connection).run(agent, weather.question);
  return { text: String(finalOutput), cities };
};

export const openAIAgents: Framework = {
  name: 'OpenAI Agents SDK',
  packages: ['@openai/agents', 'openai'],
  requestsWhenSpent: 1,
  async ask(connection, prompt) {
    const { finalOutput, rawResponses } = await runnerFor(connection).run(agentFor(connection), prompt);
    const usage = rawResponses[0]?.usage;
    return { text: String(finalOutput), usage: [usage?.inputTokens ?? 0, usage?.outputTokens ?? 0] };
  },
  async *stream(connection, prompt, signal) {
    const options = { stream: true as const, signal };
    const result = await runnerFor(connection).run(agentFor(connection), prompt, options);
    yield* result.toTextStream();
    await result.completed;
  },
  followUps: {
    async history(connection, first, second) {
      const runner = runnerFor(connection);
      const agent = agentFor(connection);
      const { history } = await runner.run(agent, first);
      const { finalOutput } = await runner.run(agent, [...history, { role: 'user', content: second }]);
      return String(finalOutput);
    },
    async previousResponseId(connection, first, second) {
      const runner = runnerFor(connection);
      const agent = agentFor(connection);
      const { lastResponseId } = await runner.run(agent, first);
      if (lastResponseId === undefined) throw new Error('The response has no ID.');
      const options = { previousResponseId: lastResponseId };
      return String((await runner.run(agent, second, options)).finalOutput);
    },
  },
  tools: {
    stored: roundTrip(),
    'store: false': roundTrip(false),
    async streamed(connection) {
      const { agent, cities } = weatherAgent(connection);
      const result = await runnerFor(connection).run(agent, weather.question, { stream: true });
      await result.completed;
      return { text: String(result.finalOutput), cities };
    },
  },
  refusal: clientRefusal,
};
