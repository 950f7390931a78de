/** Streams a chat completion in the format of OpenAI's clients. Contract section 7. */
import type { ChatEngine, CompletionChunk, CompletionInput } from '../engines/types.ts';
import { mergedChunks } from './merged-chunks.ts';
import { type Script, Tally } from './stream-script.ts';

const DONE = 'data: [DONE]\n\n';
const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;

/** Sends the last chunk, with the token counts, only on request. All other chunks then have `usage: null`. */
export function completionScript(
  engine: ChatEngine,
  input: CompletionInput,
  signal: AbortSignal,
  isKept: boolean,
): Script {
  const includesUsage = input.stream_options?.include_usage === true;
  const tally = new Tally(input);
  let whole: CompletionChunk | undefined;
  let usage: CompletionChunk | undefined;
  return {
    chunks: () => engine.stream(input, signal),
    encode(chunk) {
      tally.add(chunk);
      const isUsage = chunk.choices.length === 0 && chunk.usage;
      if (isUsage && !includesUsage) return '';
      if (includesUsage) chunk.usage ??= null;
      if (isUsage) usage = chunk;
      else if (isKept) whole = whole === undefined ? chunk : mergedChunks(whole, chunk);
      return event(chunk);
    },
    outcome: () => ({ model: input.model, ...tally.tokens() }),
    end: () => DONE,
    replay: (envelope) =>
      [whole, usage].map((chunk) => (chunk === undefined ? '' : event(chunk))).join('') +
      (envelope === undefined ? DONE : event(envelope)),
    error: event,
  };
}
