/** The interface through which the tests drive each framework. */
import { readFileSync } from 'node:fs';
import type { Parley } from '../clients/parley.ts';

export type Connection = Pick<Parley, 'apiKey' | 'baseURL' | 'model'>;

/** The result of a tool round trip: the final text, and the cities that the tool was called with. */
export type RoundTrip = { text: string; cities: string[] };

/** Sends two prompts in one conversation. Returns the reply to the second. */
export type FollowUp = (connection: Connection, first: string, second: string) => Promise<string>;

export type Framework = {
  name: string;
  /** The framework's npm packages. The table shows their versions. */
  packages: string[];
  /** The number of requests, with default settings, when the quota is spent. */
  requestsWhenSpent: number;
  /** Returns the reply to a prompt. `usage` is the number of input tokens and of output tokens. */
  ask(connection: Connection, prompt: string): Promise<{ text: string; usage: [number, number] }>;
  /** Streams the pieces of a reply. When the signal aborts, the stream ends or throws. */
  stream(connection: Connection, prompt: string, signal: AbortSignal): AsyncIterable<string>;
  /** The ways to continue a conversation, by name. */
  followUps: Readonly<Record<string, FollowUp>>;
  /** The ways to use a tool, by name. The framework offers it, runs it, and sends the result back. */
  tools: Readonly<Record<string, (connection: Connection) => Promise<RoundTrip>>>;
  /** Extracts the status and the service's error object from an error that the framework threw. */
  refusal(error: unknown): { status: unknown; error: unknown };
};

/** The base URL without `/v1`, for clients that add it, as Anthropic's do. */
export const anthropicBaseOf = ({ baseURL }: Connection): string => baseURL.replace(/\/v1$/, '');

/**
 * Extracts the status and the service's error object from an error of OpenAI's or Anthropic's client. Anthropic's keeps
 * the whole body. Throws other errors again.
 */
export function clientRefusal(error: unknown): { status: unknown; error: unknown } {
  const { error: body, status } = error as { status?: unknown; error?: { error?: unknown } };
  if (status === undefined) throw error;
  return { status, error: body?.error ?? body };
}

/** The tool of the tests, a prompt that makes the test upstream call it, and its result. */
export const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  question: 'How is the weather?',
  result: 'sunny',
};

/** The installed versions of the framework's packages, such as `ai 6.0.326, @ai-sdk/openai 3.0.141`. */
export const versionsOf = ({ packages }: Framework): string =>
  packages
    .map((name) => {
      const file = new URL(`./node_modules/${name}/package.json`, import.meta.url);
      return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`;
    })
    .join(', ');
