/** Detects a stream's first output. Until then, a failure can be refunded or retried elsewhere. Contract section 7. */
import type { CompletionChunk } from './types.ts';

/** Limits how many chunks are held back, even if all are empty. No reply has more choices. */
const MAX_HELD = 16;

const isSomething = (value: unknown) =>
  value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);

/** The role alone is not output: servers send it long before the model writes. */
export const hasOutput = ({ choices }: CompletionChunk): boolean =>
  choices.some(
    ({ delta, finish_reason }) =>
      finish_reason !== null ||
      Object.entries(delta).some(([name, value]) => name !== 'role' && isSomething(value)),
  );

/** Servers use one of two names for reasoning. `reasoning_details` holds reasoning that only the model can read. */
const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

export const hasReasoning = ({ choices }: CompletionChunk): boolean =>
  choices.some(({ delta }) =>
    reasoningFields.some((name) => isSomething((delta as Record<string, unknown>)[name])),
  );

/** Returns all chunks up to and including the first with output. */
export async function firstOutput(chunks: AsyncIterator<CompletionChunk, void>): Promise<CompletionChunk[]> {
  const held: CompletionChunk[] = [];
  while (held.length < MAX_HELD) {
    const { done, value } = await chunks.next();
    if (done) break;
    held.push(value);
    if (hasOutput(value)) break;
  }
  return held;
}
