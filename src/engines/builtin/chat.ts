/** The built-in chat engine: deterministic, offline replies from Parley's guides. Contract sections 7 and 8. */
import { type Documentation, isSection } from '../../docs/documentation.ts';
import { guides, guidesDigest } from '../../docs/guides.ts';
import { builtinModel } from '../../domain/builtin-models.ts';
import { newId } from '../../domain/ids.ts';
import { noteCalled } from '../progress.ts';
import type { ChatEngine, CompletionChunk, CompletionInput, CompletionResult } from '../types.ts';
import { replyTo, SECTIONS_WANTED } from './replies.ts';

const CHARACTERS_PER_TOKEN = 4;

/** For a longer message, the engine searches for its beginning and end. */
const SEARCHED_LENGTH = 1000;

/** Four characters per token, rounded up, which is close to the count of language models for English. */
export const estimateTokens = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** The last user message. The engine ignores instructions and earlier turns. */
function questionOf({ messages }: CompletionInput): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  if (typeof content === 'string') return content;
  return content
    .flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []))
    .join('\n');
}

function searched(question: string): string {
  if (question.length <= SEARCHED_LENGTH) return question;
  return `${question.slice(0, SEARCHED_LENGTH / 2)} ${question.slice(-SEARCHED_LENGTH / 2)}`;
}

type Answer = { words: string[]; finishReason: 'stop' | 'length'; usage: CompletionResult['usage'] };

/** The words that fit the token limit, each with its preceding whitespace. */
function wordsWithin(text: string, tokens: number): Pick<Answer, 'words' | 'finishReason'> {
  const words: string[] = [];
  let length = 0;
  for (const word of text.match(/\s*\S+/g) ?? []) {
    length += word.length;
    if (length > tokens * CHARACTERS_PER_TOKEN) return { words, finishReason: 'length' };
    words.push(word);
  }
  return { words, finishReason: 'stop' };
}

export function builtinChat(documentation: Documentation, publicUrl: string): ChatEngine {
  let fingerprint: string | undefined;

  async function answer(input: CompletionInput, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    noteCalled(signal);
    const question = questionOf(input).trim();
    const query = searched(question);
    const { hits } = (await documentation()).search(query, { limit: SECTIONS_WANTED, accepts: isSection });
    const text = replyTo(query, hits, publicUrl);
    const { words, finishReason } = wordsWithin(
      text,
      input.max_completion_tokens ?? input.max_tokens ?? Number.POSITIVE_INFINITY,
    );
    const prompt = estimateTokens(question);
    const completion = (input.n ?? 1) * estimateTokens(words.join(''));
    return {
      words,
      finishReason,
      usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    };
  }

  function head(input: CompletionInput) {
    // Changes if and only if replies may change.
    fingerprint ??= `fp_${guidesDigest(guides()).slice(0, 10)}`;
    return {
      id: `chatcmpl-${newId().replaceAll('-', '')}`,
      created: Math.floor(Date.now() / 1000),
      model: input.model,
      system_fingerprint: fingerprint,
    };
  }

  const choices = (input: CompletionInput) => Array.from({ length: input.n ?? 1 }, (_, index) => index);

  async function* stream(input: CompletionInput, signal: AbortSignal): AsyncGenerator<CompletionChunk> {
    const { words, finishReason, usage } = await answer(input, signal);
    const common = { ...head(input), object: 'chat.completion.chunk' as const };
    const chunk = (
      index: number,
      delta: CompletionChunk['choices'][number]['delta'],
      finish: string | null = null,
    ): CompletionChunk => ({
      ...common,
      choices: [{ index, delta, logprobs: null, finish_reason: finish }],
    });
    for (const index of choices(input)) {
      yield chunk(index, { role: 'assistant', content: '', refusal: null });
      for (const word of words) {
        signal.throwIfAborted();
        yield chunk(index, { content: word });
      }
      yield chunk(index, {}, finishReason);
    }
    yield { ...common, choices: [], usage };
  }

  return {
    kind: 'builtin',
    models: async () => [builtinModel],
    stream,
    async complete(input, signal) {
      const { words, finishReason, usage } = await answer(input, signal);
      const content = words.join('');
      return {
        ...head(input),
        object: 'chat.completion' as const,
        choices: choices(input).map((index) => ({
          index,
          message: { role: 'assistant' as const, content, refusal: null },
          logprobs: null,
          finish_reason: finishReason,
        })),
        usage,
      };
    },
  };
}
