/**
 * Metered answers as they are made. Until the engine's first output a failure is a plain error and a refund; then the
 * charge is final, and only then the first byte leaves. Contract sections 5 and 7.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { brokenOff, isOurFailure } from '../domain/charged-errors.ts';
import type { Admission } from '../domain/ledger.ts';
import type { Script } from '../domain/stream-script.ts';
import type { CompletionChunk } from '../engines/types.ts';
import { errorEnvelope } from '../errors.ts';
import type { Slot } from '../limits/calls.ts';
import { toApiError } from './errors.ts';
import type { EventStream } from './event-stream.ts';
import type { Work } from './in-flight.ts';
import { admit, clientLeft, giveBack, nothingKnown } from './metered.ts';

/** More chunks than choices are not waited for, even if nothing is in them. */
const MOST_HELD = 16;

const isSomething = (value: unknown) =>
  value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);

/** Whether a chunk holds output. Servers send the role at once, long before the model has anything to say. */
const isOutput = ({ choices }: CompletionChunk): boolean =>
  choices.some(
    ({ delta, finish_reason }) =>
      finish_reason !== null ||
      Object.entries(delta).some(([name, value]) => name !== 'role' && isSomething(value)),
  );

/** Everything up to and including the engine's first output. */
async function firstOutput(chunks: AsyncIterator<CompletionChunk, void>): Promise<CompletionChunk[]> {
  const held: CompletionChunk[] = [];
  while (held.length < MOST_HELD) {
    const { done, value } = await chunks.next();
    if (done) break;
    held.push(value);
    if (isOutput(value)) break;
  }
  return held;
}

/** An admitted stream whose engine has begun. */
type Begun = {
  admission: Admission;
  script: Script;
  held: readonly CompletionChunk[];
  chunks: AsyncIterator<CompletionChunk, void>;
  work: Work;
  slot: Slot;
};

/** Writes what is held and all that follows, as fast as the client reads. */
async function pump({ chunks, held, script, work }: Begun, stream: EventStream): Promise<void> {
  const tell = (chunk: CompletionChunk) => {
    const text = script.tell(chunk);
    return text === '' ? undefined : stream.write(text);
  };
  for (const chunk of held) await tell(chunk);
  while (!work.signal.aborted) {
    const { done, value } = await chunks.next();
    if (done) return;
    const isFull = tell(value);
    if (isFull !== undefined) await isFull;
  }
  throw work.signal.reason;
}

/** Begins the answer of a final charge. Where that fails, a retry can resume it. */
function openStream(request: FastifyRequest, reply: FastifyReply, begun: Begun): EventStream {
  const { ledger, streams } = request.server;
  const { admission, script, work } = begun;
  try {
    return streams.open(reply, work);
  } catch (error) {
    const { code, statusCode } = toApiError(error as Error & { code: string });
    void ledger
      .complete(admission, { ...script.outcome(false), failure: { code, statusCode } })
      .catch((err: unknown) => request.log.error({ err }, 'What became of a stream could not be recorded.'));
    // Nobody else would end a connection that was taken over already.
    if (reply.sent) reply.raw.destroy();
    throw error;
  }
}

/** From the engine's first output on: the charge is final, whatever happens. */
async function answer(request: FastifyRequest, begun: Begun, stream: EventStream): Promise<void> {
  const { config, ledger } = request.server;
  const { admission, script, slot, work } = begun;
  try {
    await pump(begun, stream);
    // Before the last event: who has the whole answer can continue it, and can open the next stream.
    const answer = admission.retry && { answer: { status: 200, body: script.replay() } };
    await ledger.complete(admission, { ...script.outcome(true), ...answer });
    slot.release();
    stream.end(script.end());
  } catch (error) {
    const problem = brokenOff(toApiError(error as Error & { code: string }));
    const envelope = errorEnvelope(problem, request.id, config.publicUrl);
    if (!work.isAbandoned)
      request.log.error({ code: problem.code, err: problem.options.cause }, problem.message);
    const { code, statusCode } = problem;
    const failure = work.isAbandoned ? clientLeft : { code, statusCode };
    // Whatever the engine or the client brought about is the outcome: a retry gets the same, and not the work once more.
    const answer = admission.retry &&
      !isOurFailure(problem) && { answer: { status: 200, body: script.replay(envelope) } };
    await ledger
      .complete(admission, { ...script.outcome(work.isAbandoned), failure, ...answer })
      .catch((err: unknown) => request.log.error({ err }, 'What became of a stream could not be recorded.'));
    slot.release();
    stream.end(script.error(envelope));
  }
}

/**
 * Answers a request with a stream of events under a charge. Under an idempotency key it runs to its end even when the client
 * leaves, and the whole answer is stored before its last event.
 *
 * @param units - how many; all or nothing
 * @param begin - makes the script for an admitted charge
 * @returns the reply, which is written to already
 * @throws ApiError `tooManyStreams`, `tooManyCalls` or `quotaExceeded` before the engine is asked; what it throws before its first
 *   output, which refunds the charge
 */
export async function meteredStream(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
  begin: (admission: Admission) => Script,
): Promise<FastifyReply> {
  const { calls, ledger, inFlight } = request.server;
  const slot = await calls.take(request.caller.accountId, true);
  const work = inFlight.begin(reply, request.retry !== null);
  let chunks: AsyncIterator<CompletionChunk, void> | undefined;
  try {
    const admission = await admit(request, reply, work, units);
    if (admission === undefined) return reply;
    let script: Script | undefined;
    let begun: Begun;
    try {
      script = begin(admission);
      chunks = script.chunks(work.signal)[Symbol.asyncIterator]();
      const held = await firstOutput(chunks);
      await ledger.finalise(admission);
      begun = { admission, script, held, chunks, work, slot };
    } catch (error) {
      if (!work.isAbandoned) throw await giveBack(request, reply, admission, error);
      await ledger.finalise(admission, { ...(script?.outcome(false) ?? nothingKnown), failure: clientLeft });
      return reply.hijack();
    }
    await answer(request, begun, openStream(request, reply, begun));
    return reply;
  } finally {
    // Ends the engine's work, also where its answer was not read to the end.
    await chunks?.return?.();
    slot.release();
    work.end();
  }
}
