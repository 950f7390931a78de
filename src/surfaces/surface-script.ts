/** Streams an engine's reply in the format of a surface. Contract section 14. */

import { wasStopped } from '../domain/stop.ts';
import type { ChatEngine, CompletionInput } from '../engines/types.ts';
import type { AnswerTokens } from '../engines/upstream/usage.ts';
import type { Envelope } from '../errors.ts';
import type { Outcome } from '../ledger/types.ts';
import { once, type Script, Tally } from '../requests/stream-script.ts';
import { AnswerBlocks, type BlockWriter } from './answer-blocks.ts';

/** Writes the events of a surface. Each stream and each replay has its own writer. */
export type SurfaceWriter = BlockWriter & {
  /** The events before the first block. */
  start(): string;
  /** The events after the last block. */
  end(blocks: AnswerBlocks, tokens: AnswerTokens): string;
  /** The surface's error event, which ends an incomplete reply. */
  error(envelope: Envelope): string;
};

export type Surface = {
  writer(): SurfaceWriter;
  /** The data to store with the charge once the reply is complete. */
  stored?(blocks: AnswerBlocks, tokens: AnswerTokens): Partial<Outcome>;
};

export function surfaceScript(
  engine: ChatEngine,
  input: CompletionInput,
  signal: AbortSignal,
  surface: Surface,
): Script {
  const tally = new Tally(input);
  const writer = surface.writer();
  const blocks = new AnswerBlocks(writer);
  let isWhole = false;
  const start = once(() => writer.start());
  return {
    chunks: () => engine.stream(input, signal),
    encode(chunk) {
      tally.add(chunk);
      // The last chunk only has the usage. Some servers never send a `finish_reason`.
      isWhole ||= chunk.choices.length === 0 && Boolean(chunk.usage);
      blocks.isStopped = wasStopped(signal);
      return start() + blocks.add(chunk);
    },
    outcome: (isKept) => ({
      model: input.model,
      ...tally.tokens(),
      ...(isKept && (isWhole || blocks.finishReason !== null) && surface.stored?.(blocks, tally.tokens())),
    }),
    end: () => start() + blocks.end() + writer.end(blocks, tally.tokens()),
    error: (envelope) => start() + writer.error(envelope),
    replay(envelope) {
      const again = surface.writer();
      // Keep this order, because writers number their events.
      const opening = again.start() + blocks.replayTo(again);
      return opening + (envelope === undefined ? again.end(blocks, tally.tokens()) : again.error(envelope));
    },
  };
}
