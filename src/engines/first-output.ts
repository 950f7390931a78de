/** Tells when a stream's output begins. Until then, a failure can be refunded or tried elsewhere. Contract section 7. */
import type { CompletionChunk } from './types.ts';

/** Most chunks held back, even if all are empty. No response has more choices. */
const MOST_HELD = 16;

const isSomething = (value: unknown) =>
  value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);

/** Servers send the role at once, long before the model has output. */
export const hasOutput = ({ choices }: CompletionChunk): boolean =>
  choices.some(
    ({ delta, finish_reason }) =>
      finish_reason !== null ||
      Object.entries(delta).some(([name, value]) => name !== 'role' && isSomething(value)),
  );

/** Servers name reasoning in one of two ways, or send what only the model can read. */
const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

export const hasReasoning = ({ choices }: CompletionChunk): boolean =>
  choices.some(({ delta }) =>
    reasoningFields.some((name) => isSomething((delta as Record<string, unknown>)[name])),
  );

/** Returns all chunks up to and including the first with output. */
export async function firstOutput(chunks: AsyncIterator<CompletionChunk, void>): Promise<CompletionChunk[]> {
  const held: CompletionChunk[] = [];
  while (held.length < MOST_HELD) {
    const { done, value } = await chunks.next();
    if (done) break;
    held.push(value);
    if (hasOutput(value)) break;
  }
  return held;
}
