/** Upstreams of each kind, with responses from the vendors' documentation. */
import type { Test } from 'tap';
import type { DialectKind } from '../../../src/upstreams-file/schema.ts';
import { upstreamsFile } from '../upstreams-file.ts';
import {
  anthropicEvents,
  anthropicMessage,
  chunkText,
  completionChunks,
  eventText,
  openaiEvents,
  openaiResponse,
  type WireAnswer,
  type WireCall,
  wireServer,
} from './wire.ts';

const vendors = {
  anthropic: { whole: anthropicMessage, stream: eventText(anthropicEvents) },
  'openai-responses': { whole: openaiResponse, stream: eventText(openaiEvents) },
} as const satisfies Record<Exclude<DialectKind, 'openai'>, unknown>;
export type Vendor = keyof typeof vendors;
export const vendorKinds = Object.keys(vendors) as Vendor[];

/** The vendor's response to a request, streamed if the request says so. */
export const answerOf = (kind: Vendor, { body }: WireCall): WireAnswer => ({
  body: body.stream ? vendors[kind].stream : vendors[kind].whole,
});

/**
 * Starts an upstream of each kind, and writes a configuration with a model for each, named after the kind.
 *
 * @returns the environment of a service that uses them, and the calls so far, by kind
 */
export async function startVendors(t: Test, answer: (kind: Vendor, call: WireCall) => WireAnswer = answerOf) {
  const servers = await Promise.all(vendorKinds.map((kind) => wireServer(t, (call) => answer(kind, call))));
  const { env } = upstreamsFile({
    upstreams: vendorKinds.map((kind, index) => ({ name: kind, kind, url: servers[index]?.url })),
    models: vendorKinds.map((kind) => ({
      name: kind,
      targets: [{ upstream: kind, model: `their-${kind}` }],
    })),
  });
  const calls = Object.fromEntries(vendorKinds.map((kind, index) => [kind, servers[index]?.calls ?? []]));
  return { env, calls: calls as Record<Vendor, WireCall[]> };
}

const eventsIn = (stream: string): string[] => stream.split(/(?<=\n\n)/);
const indexOf = (events: readonly string[], text: string): number =>
  events.findIndex((event) => event.includes(text));

/** The events of a stream, and the points at which tests interrupt it. */
export type Cut = {
  events: readonly string[];
  /** The index of the first event with output. */
  firstOutput: number;
  /** The number of events after which the reply is complete, even if others are missing. */
  complete: number;
};

function cutOf(stream: string, firstOutput: string, last?: string): Cut {
  const events = eventsIn(stream);
  const complete = last === undefined ? events.length : indexOf(events, last) + 1;
  return { events, firstOutput: indexOf(events, firstOutput), complete };
}

/** Anthropic's messages and chat completions are complete once they contain the reason why they ended. */
export const cuts = {
  openai: cutOf(chunkText(completionChunks), 'reasoning_content', '"finish_reason":"tool_calls"'),
  anthropic: cutOf(vendors.anthropic.stream, 'content_block_delta', 'event: message_delta'),
  'openai-responses': cutOf(vendors['openai-responses'].stream, 'reasoning_summary_text.delta'),
} as const satisfies Record<DialectKind, Cut>;
