/** A streamed chat completion, as OpenAI's clients read it. Contract section 7. */
import type { ChatEngine, CompletionInput } from '../engines/types.ts';
import { type Script, Tally } from './stream-script.ts';

const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;

/**
 * Tells of a completion. The engine's last chunk, with the tokens, is for the ledger; it is told only where the client
 * asked for it, and then the others say `usage: null`.
 */
export function completionScript(engine: ChatEngine, input: CompletionInput): Script {
  const tellsUsage = input.stream_options?.include_usage === true;
  const tally = new Tally(input);
  return {
    chunks: (signal) => engine.stream(input, signal),
    tell(chunk) {
      tally.add(chunk);
      if (!tellsUsage) return chunk.choices.length === 0 && chunk.usage ? '' : event(chunk);
      chunk.usage ??= null;
      return event(chunk);
    },
    outcome: () => ({ model: input.model, ...tally.tokens() }),
    end: () => 'data: [DONE]\n\n',
    error: event,
  };
}
