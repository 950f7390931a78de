/** Upstreams of each kind, with the published answers of their APIs. */
import type { Test } from 'tap';
import type { DialectKind } from '../../../src/upstreams/schema.ts';
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

/** What the vendor answers, streamed if the request asks for it. */
export const answerOf = (kind: Vendor, { body }: WireCall): WireAnswer => ({
  body: body.stream ? vendors[kind].stream : vendors[kind].whole,
});

/** One upstream of each kind, each behind a model of its name. `calls` are what they got. */
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

/** How a stream of each kind can be cut. */
export type Cut = {
  events: readonly string[];
  /** The first event with output. */
  firstOutput: number;
  /** How many events make the answer complete, even if others are missing. */
  complete: number;
};

function cutOf(stream: string, firstOutput: string, last?: string): Cut {
  const events = eventsIn(stream);
  const complete = last === undefined ? events.length : indexOf(events, last) + 1;
  return { events, firstOutput: indexOf(events, firstOutput), complete };
}

/** A message of Anthropic and a chat completion are complete once they say why they ended. */
export const cuts = {
  openai: cutOf(chunkText(completionChunks), 'reasoning_content', '"finish_reason":"tool_calls"'),
  anthropic: cutOf(vendors.anthropic.stream, 'content_block_delta', 'event: message_delta'),
  'openai-responses': cutOf(vendors['openai-responses'].stream, 'reasoning_summary_text.delta'),
} as const satisfies Record<DialectKind, Cut>;
