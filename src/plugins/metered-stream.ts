/**
 * Metered answers as they are made. Until the engine's first output a failure is a plain error and a refund; then the
 * charge is final, and only then the first byte leaves. Contract sections 5 and 7.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '../domain/ledger.ts';
import type { Script } from '../domain/stream-script.ts';
import type { CompletionChunk } from '../engines/types.ts';
import { ApiError, errorEnvelope } from '../errors.ts';
import { toApiError } from './errors.ts';
import type { EventStream, Place } from './event-stream.ts';
import { admit, clientLeft, giveBack } from './quota.ts';
import type { Work } from './work.ts';

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

/** The table's sentences say that nothing was charged, which is not so once an answer has begun. */
function brokenOff(error: unknown): ApiError {
  const problem = toApiError(error as Error & { code: string });
  const what: Partial<Record<ApiError['code'], string>> = {
    upstreamTimeout: 'The model behind this service stopped answering.',
    serviceUnavailable: 'The service had to stop.',
    internalError: 'Something went wrong on our side.',
  };
  return new ApiError(problem.code, {
    message: `${what[problem.code] ?? 'The model behind this service broke off.'} The answer is incomplete, and stays charged.`,
    cause: problem.options.cause ?? problem,
  });
}

/** An admitted stream whose engine has begun. */
type Begun = {
  admission: Admission;
  script: Script;
  held: readonly CompletionChunk[];
  chunks: AsyncIterator<CompletionChunk, void>;
  work: Work;
  place: Place;
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

/** From the engine's first output on: the charge is final, whatever happens. */
async function answer(request: FastifyRequest, begun: Begun, stream: EventStream): Promise<void> {
  const { config, ledger } = request.server;
  const { admission, place, script, work } = begun;
  try {
    await pump(begun, stream);
    // Before the last event: who has the whole answer can continue it, and can open the next stream.
    const answer = admission.retry && { answer: script.replay() };
    await ledger.complete(admission, { ...script.outcome(true), ...answer });
    place.release();
    stream.end(script.end());
  } catch (error) {
    const problem = brokenOff(error);
    if (!work.isAbandoned)
      request.log.error({ code: problem.code, err: problem.options.cause }, problem.message);
    const { code, statusCode } = problem;
    const failure = work.isAbandoned ? clientLeft : { code, statusCode };
    await ledger
      .complete(admission, { ...script.outcome(work.isAbandoned), failure })
      .catch((err: unknown) => request.log.error({ err }, 'What became of a stream could not be recorded.'));
    place.release();
    stream.end(script.error(errorEnvelope(problem, request.id, config.publicUrl)));
  }
}

/**
 * Answers a request with a stream of events under a charge. Under an idempotency key it runs to its end even when the client
 * leaves, and the whole answer is stored before its last event.
 *
 * @param units - how many; all or nothing
 * @param begin - makes the script for an admitted charge
 * @returns the reply, which is written to already
 * @throws ApiError `tooManyStreams` or `quotaExceeded` before the engine is asked; what it throws before its first
 *   output, which refunds the charge
 */
export async function meteredStream(
  request: FastifyRequest,
  reply: FastifyReply,
  units: number,
  begin: (admission: Admission) => Script,
): Promise<FastifyReply> {
  const { ledger, streams, work: underWay } = request.server;
  const place = streams.take(request.caller.accountId);
  const work = underWay.begin(reply, request.retry !== null);
  let chunks: AsyncIterator<CompletionChunk, void> | undefined;
  try {
    const admission = await admit(request, reply, work, units);
    if (admission === undefined) return reply;
    const script = begin(admission);
    const asked = script.chunks(work.signal)[Symbol.asyncIterator]();
    chunks = asked;
    let held: CompletionChunk[];
    try {
      held = await firstOutput(asked);
      await ledger.finalise(admission);
    } catch (error) {
      if (work.isAbandoned) {
        await ledger.finalise(admission, { ...script.outcome(false), failure: clientLeft });
        return reply.hijack();
      }
      await giveBack(request, reply, admission, error);
      throw error;
    }
    const stream = streams.open(reply, work);
    await answer(request, { admission, script, held, chunks: asked, work, place }, stream);
    return reply;
  } finally {
    // Ends the engine's work, also where its answer was not read to the end.
    await chunks?.return?.();
    place.release();
    work.end();
  }
}
