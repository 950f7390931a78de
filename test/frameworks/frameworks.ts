/** What every framework is asked to do, and how the tests drive it. */
import { readFileSync } from 'node:fs';
import type { Parley } from '../clients/parley.ts';

export type Connection = Pick<Parley, 'apiKey' | 'baseURL' | 'model'>;

/** A tool round trip: the final text, and the cities that the tool was asked for. */
export type RoundTrip = { text: string; cities: string[] };

/** Asks twice. The second question continues the conversation, and its reply is returned. */
export type FollowUp = (connection: Connection, first: string, second: string) => Promise<string>;

export type Framework = {
  name: string;
  /** The packages of the framework, whose versions the table shows. */
  packages: string[];
  /** The number of requests that the framework makes when the quota is spent, with its default settings. */
  requestsWhenSpent: number;
  /** One reply. `usage` is the numbers of input and output tokens. */
  ask(connection: Connection, prompt: string): Promise<{ text: string; usage: [number, number] }>;
  /** The pieces of a reply. Aborting the signal ends the stream, or throws. */
  stream(connection: Connection, prompt: string, signal: AbortSignal): AsyncIterable<string>;
  /** Ways of continuing a conversation. */
  followUps: Readonly<Record<string, FollowUp>>;
  /** Ways of asking with a tool: the framework offers it, runs it, and sends the result back. */
  tools: Readonly<Record<string, (connection: Connection) => Promise<RoundTrip>>>;
  /** Of an error that the framework throws: the status, and the service's error object. */
  refusal(error: unknown): { status: unknown; error: unknown };
};

/** For clients that add `/v1` themselves, as Anthropic's do. */
export const anthropicBaseOf = ({ baseURL }: Connection): string => baseURL.replace(/\/v1$/, '');

/** Of the errors that the clients of OpenAI and Anthropic throw; Anthropic's keep the whole body. */
export function clientRefusal(error: unknown): { status: unknown; error: unknown } {
  const { error: body, status } = error as { status?: unknown; error?: { error?: unknown } };
  if (status === undefined) throw error;
  return { status, error: body?.error ?? body };
}

export const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  question: 'How is the weather?',
  result: 'sunny',
};

/** The installed versions: `ai 6.0.326, @ai-sdk/openai 3.0.141`. */
export const versionsOf = ({ packages }: Framework): string =>
  packages
    .map((name) => {
      const file = new URL(`./node_modules/${name}/package.json`, import.meta.url);
      return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`;
    })
    .join(', ');
