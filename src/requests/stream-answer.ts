/** Sends the result of charged work as server-sent events. Contract sections 5 and 7. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Stop } from '../domain/stop.ts';
import { firstOutput } from '../engines/first-output.ts';
import type { CompletionChunk } from '../engines/types.ts';
import type { Admission } from '../ledger/types.ts';
import { type Charging, nothingKnown, runUnderCharge } from './charge.ts';
import type { Cost } from './cost.ts';
import type { EventStream } from './event-stream.ts';
import type { Script } from './stream-script.ts';

const hasFinished = ({ choices }: CompletionChunk): boolean =>
  choices.some(({ finish_reason: reason }) => reason !== null);

/**
 * Runs metered work and streams its events. No byte is sent before the engine's first output. Contract section 7.
 *
 * @throws ApiError as `runUnderCharge` does
 */
export function answerStream(
  charging: Charging,
  request: FastifyRequest,
  reply: FastifyReply,
  cost: Cost,
  begin: (admission: Admission, signal: AbortSignal) => Script,
): Promise<FastifyReply> {
  let script: Script;
  let chunks: AsyncIterator<CompletionChunk, void> | undefined;
  let held: CompletionChunk[];
  let stream: EventStream | undefined;
  /** With reserved tokens, the last chunk waits for the token counts: a client may disconnect once it has it. */
  const ending: CompletionChunk[] = [];
  let isReserved = false;
  const write = (chunk: CompletionChunk) => {
    const text = script.encode(chunk);
    return text === '' ? undefined : stream?.write(text);
  };
  const writeEnding = () => {
    let isFull: Promise<void> | undefined;
    for (const chunk of ending.splice(0)) isFull = write(chunk);
    return isFull;
  };
  const send = (chunk: CompletionChunk) => {
    if (!isReserved) return write(chunk);
    ending.push(chunk);
    return hasFinished(chunk) ? undefined : writeEnding();
  };
  return runUnderCharge<FastifyReply>(charging, request, reply, cost, {
    async prepare(admission, signal) {
      isReserved = admission.reserved !== undefined;
      script = begin(admission, signal);
      chunks = script.chunks()[Symbol.asyncIterator]();
      held = await firstOutput(chunks);
      return undefined;
    },
    async stream(work) {
      stream = charging.streams.open(reply, work);
      try {
        for (const chunk of held) await send(chunk);
        while (!work.signal.aborted || work.signal.reason instanceof Stop) {
          const next = await chunks?.next();
          if (next === undefined || next.done) return;
          const isFull = send(next.value);
          if (isFull !== undefined) await isFull;
        }
        throw work.signal.reason;
      } finally {
        writeEnding();
      }
    },
    outcome: (isKept) => script?.outcome(isKept) ?? nothingKnown,
    replay: (envelope) => script.replay(envelope),
    end(envelope) {
      // The reply was hijacked, so nothing else ends the connection.
      if (stream === undefined) reply.raw.destroy();
      else stream.end(envelope === undefined ? script.end() : script.error(envelope));
    },
    close: async () => chunks?.return?.(),
  });
}
