/** Streams of the test upstream. One timer paces all of them, and each waits for its client to read. */
import type { ServerResponse } from 'node:http';
import { reset } from '../reset.ts';
import type { CallRecord, Records } from './records.ts';
import { type ChatBody, choicesOf, headOf, logprobsOf, replyTo } from './replies.ts';
import { CANARY, type Settings } from './settings.ts';
import { type Vendor, vendorEvents } from './vendors.ts';
import { rest, wheel } from './wheel.ts';

type Json = Record<string, unknown>;

/** One event. `isText` if it counts as a chunk of text, which the pace applies to. */
type Event = { name?: string; data: string; isText: boolean };

/** The events of a default reply, generated lazily because a stream can be endless. */
function* honestEvents(body: ChatBody, settings: Settings): Generator<Event> {
  const { finishReason, pieces, toolCalls, usage } = replyTo(body, settings);
  const head = headOf(body, settings, 'chat.completion.chunk');
  const asksUsage =
    (body.stream_options as Json | undefined)?.include_usage === true && settings.usage !== 'never';
  const tail = asksUsage && settings.usage !== 'with-finish' ? { usage: null } : {};
  const indexes = Array.from({ length: choicesOf(body, settings) }, (_, index) => index);
  const chunk = (index: number, delta: Json, finish: string | null, extra: Json = {}) =>
    JSON.stringify({
      ...head,
      choices: [
        { index, delta, ...(settings.bare ? {} : { logprobs: null }), finish_reason: finish, ...extra },
      ],
      ...tail,
      ...(settings.stamp && { sent_at: performance.timeOrigin + performance.now() }),
    });

  if (!settings.bare) {
    for (const index of indexes)
      yield { data: chunk(index, { role: 'assistant', content: '', refusal: null }, null), isText: false };
  }
  for (const piece of pieces) {
    const extra = body.logprobs ? { logprobs: logprobsOf([piece]) } : {};
    for (const index of indexes) yield { data: chunk(index, { content: piece }, null, extra), isText: true };
  }
  for (const index of indexes) {
    const [call] = toolCalls ?? [];
    if (call !== undefined) {
      const { arguments: given, name } = call.function as { arguments: string; name: string };
      // As OpenAI does: first the name, then the arguments in pieces.
      yield {
        data: chunk(index, { tool_calls: [{ index: 0, ...call, function: { name, arguments: '' } }] }, null),
        isText: true,
      };
      for (const part of given.match(/.{1,5}/gs) ?? []) {
        yield {
          data: chunk(index, { tool_calls: [{ index: 0, function: { arguments: part } }] }, null),
          isText: true,
        };
      }
    }
    if (settings.fault !== 'no-finish') yield { data: chunk(index, {}, finishReason), isText: false };
  }
  if (settings.usage === 'with-finish')
    yield {
      data: JSON.stringify({
        ...head,
        choices: [{ index: 0, delta: {}, finish_reason: finishReason }],
        usage,
      }),
      isText: false,
    };
  else if (asksUsage) yield { data: JSON.stringify({ ...head, choices: [], usage }), isText: false };
}

/** Writes the last bytes of a response, and resets the connection. */
export function resetAfter(response: ServerResponse, bytes: Uint8Array): void {
  const end = () => response.socket && reset(response.socket);
  if (bytes.length === 0) end();
  else response.write(bytes, end);
}

/** Injects a fault into a stream. Returns false if the stream continues. */
function breakOff(response: ServerResponse, { fault }: Settings): boolean {
  if (fault === 'truncate') response.end();
  else if (fault === 'cut') response.socket && reset(response.socket);
  else if (fault === 'error-event')
    response.end(`data: ${JSON.stringify({ error: { message: CANARY, code: 500 } })}\n\n`);
  else if (fault === 'bad-event') response.write(`data: {"choices": [${CANARY}\n\n`);
  else if (fault === 'invalid-utf8')
    response.write(
      Buffer.from([
        ...Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"'),
        0xff,
        0xc3,
        ...Buffer.from('"}}]}\n\n'),
      ]),
    );
  else return fault === 'stall';
  return fault !== 'invalid-utf8';
}

/**
 * Responds with a stream.
 *
 * @param given - the data of its events, in place of the default ones
 * @param vendor - the API whose format to use; default: chat completions
 */
export async function stream(
  response: ServerResponse,
  call: CallRecord,
  records: Records,
  body: ChatBody,
  settings: Settings,
  given?: string[],
  vendor?: Vendor,
): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  response.flushHeaders();
  await rest(settings.firstChunkDelayMs);

  const honest: Iterator<Event> = vendor
    ? vendorEvents(vendor, body, settings)
    : honestEvents(body, settings);
  const events: Iterator<Event> =
    given === undefined ? honest : given.map((data) => ({ data, isText: true })).values();
  const intervalMs =
    settings.tokensPerSecond > 0 ? 1000 / settings.tokensPerSecond : settings.chunkIntervalMs;
  let texts = 0;
  let isBroken = false;
  let isCut = false;
  let dueAt = performance.now();

  const write = (text: string, chunks: number): boolean => {
    const left = settings.cutBytes - call.bytes;
    if (settings.fault === 'cut-bytes' && left < Buffer.byteLength(text)) {
      isCut = true;
      resetAfter(response, Buffer.from(text).subarray(0, left));
      return true;
    }
    records.wrote(call, Buffer.byteLength(text), chunks);
    if (settings.splitBytes === 0) return response.write(text);
    const bytes = Buffer.from(text);
    let isReady = true;
    for (let from = 0; from < bytes.length; from += settings.splitBytes)
      isReady = response.write(bytes.subarray(from, from + settings.splitBytes));
    return isReady;
  };
  const end = () => {
    if (settings.fault !== 'no-done' && given === undefined && !vendor) write('data: [DONE]\n\n', 0);
    if (isCut) return;
    if (settings.fault === 'late-end') wheel.after(30, () => response.end());
    else if (settings.fault !== 'linger') response.end();
  };

  /** Writes events until it must wait for the pace, for the client, or for other streams. */
  const step = () => {
    for (let burst = 0; burst < 100; burst += 1) {
      if (response.destroyed || isCut) return;
      if (!isBroken && texts >= settings.faultAfter) {
        isBroken = true;
        if (breakOff(response, settings)) return;
      }
      const { done, value: event } = events.next();
      if (done) return end();
      if (event.isText) texts += 1;
      const name = event.name === undefined ? '' : `event: ${event.name}\n`;
      const isReady = write(`${name}data: ${event.data}\n\n`, event.isText ? 1 : 0);
      if (!isReady) return void response.once('drain', step);
      if (event.isText && intervalMs > 0) {
        dueAt += intervalMs;
        return wheel.after(Math.max(dueAt - performance.now(), 0), step);
      }
    }
    setImmediate(step);
  };
  step();
}
