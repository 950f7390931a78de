/** Reads an engine's answer as blocks, of which one is open at a time. Contract section 14. */
import { newId } from '../domain/ids.ts';
import { stepsOf } from '../engines/message-steps.ts';
import { type Seal, type SealedReasoning, sealedReasoning } from '../engines/reasoning-details.ts';
import type { CompletionChunk, CompletionResult } from '../engines/types.ts';
import { isObject, type JsonObject, stringIn, wholeNumber } from '../engines/upstream/json.ts';

export type AnswerBlock = {
  kind: 'text' | 'refusal' | 'reasoning' | 'tool';
  /** Its place in the answer, from 0. */
  index: number;
  /** The text so far; of a tool call, its arguments as JSON. */
  text: string;
  /** Of a tool call; otherwise empty. */
  callId: string;
  name: string;
  /** Of a text of OpenAI's models: what it is for, such as `commentary`. */
  phase?: string;
  /** Of reasoning that only its model can read or verify. It may arrive after the text. */
  seal?: Seal;
};

/** What a surface sends for each step of a block. In `open`, nothing of the block's text has been sent. */
export type BlockWriter = {
  open(block: AnswerBlock): string;
  delta(block: AnswerBlock, text: string): string;
  close(block: AnswerBlock): string;
};

type TextKind = Exclude<AnswerBlock['kind'], 'tool'>;
type Delta = Readonly<Record<string, unknown>>;

/** In the order in which they are read from a delta. Servers name reasoning in one of two ways. */
const textFields: readonly (readonly [string, TextKind])[] = [
  ['reasoning_content', 'reasoning'],
  ['reasoning', 'reasoning'],
  ['content', 'text'],
  ['refusal', 'refusal'],
];

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export class AnswerBlocks {
  /** In the order of the answer. Their texts are complete even if not all was sent yet. */
  readonly all: AnswerBlock[] = [];
  finishReason: string | null = null;
  /** Whether the client stopped the answer. */
  isStopped = false;
  /** The stop sequence that ended the answer, if the engine names it. */
  stopSequence: string | null = null;
  /** Parts of the token counts, 0 if the engine does not count them. */
  cachedTokens = 0;
  cacheWriteTokens = 0;
  reasoningTokens = 0;
  readonly #writer: BlockWriter;
  readonly #calls = new Map<unknown, AnswerBlock>();
  /** The position of the open block; -1 before the first. */
  #open = -1;
  /** Set if another block began before the open tool call was complete: the others wait for the end of the answer. */
  #isBlocked = false;

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  /** Returns what to send for a chunk. Only the first choice counts. */
  add({ choices, usage }: CompletionChunk): string {
    const [choice] = choices;
    if (usage) this.#count(usage as Delta);
    if (choice === undefined) return '';
    const { delta, finish_reason: finishReason, ...rest } = choice;
    const told = this.#read(delta as Delta);
    if (finishReason !== null) this.#finish(finishReason, rest);
    return told;
  }

  /** Closes all blocks. Call it after the last chunk. */
  end(): string {
    let told = this.#open < 0 ? '' : this.#close();
    while (this.#open + 1 < this.all.length) {
      told += this.#openNext() + this.#close();
    }
    return told;
  }

  /** Sends the blocks so far as a whole, to another writer. */
  replayTo(writer: BlockWriter): string {
    return this.all
      .map((block) => writer.open(block) + deltaOf(writer, block) + writer.close(block))
      .join('');
  }

  #finish(finishReason: string, { stop_reason: stopSequence }: Delta): void {
    this.finishReason = finishReason;
    // vLLM's name for it.
    if (typeof stopSequence === 'string') this.stopSequence = stopSequence;
  }

  #count({ completion_tokens_details: output, prompt_tokens_details: input }: Delta): void {
    if (isObject(input)) {
      this.cachedTokens = wholeNumber(input.cached_tokens) ?? 0;
      this.cacheWriteTokens = wholeNumber(input.cache_write_tokens) ?? 0;
    }
    if (isObject(output)) this.reasoningTokens = wholeNumber(output.reasoning_tokens) ?? 0;
  }

  #read(delta: Delta): string {
    const sealed = sealedReasoning(delta as JsonObject);
    let told = sealed.map((one) => this.#seal(one)).join('');
    // The same text is in whatever was sealed.
    let hasReasoning = sealed.length > 0;
    for (const [field, kind] of textFields) {
      const text = stringIn(delta[field]);
      // Some servers send the same reasoning under both names.
      if (text === '' || (kind === 'reasoning' && hasReasoning)) continue;
      hasReasoning ||= kind === 'reasoning';
      told += this.#append(this.#textBlock(kind, stringIn(delta.phase)), text);
    }
    if (Array.isArray(delta.tool_calls))
      for (const call of delta.tool_calls as unknown[]) if (isObject(call)) told += this.#call(call);
    return told;
  }

  #call(call: Delta): string {
    const { arguments: text, name } = isObject(call.function) ? call.function : {};
    const key = call.index ?? this.#calls.size;
    let block = this.#calls.get(key);
    if (block === undefined) {
      block = this.#add('tool', stringIn(call.id) || `call_${newId().replaceAll('-', '')}`, stringIn(name));
      this.#calls.set(key, block);
    }
    return this.#append(block, stringIn(text));
  }

  /** A text with a phase begins another message. */
  #textBlock(kind: TextKind, phase: string): AnswerBlock {
    const last = this.all.at(-1);
    const begins = kind === 'text' && phase !== '';
    if (last?.kind === kind && last.seal === undefined && !begins) return last;
    const block = this.#add(kind);
    if (begins) block.phase = phase;
    return block;
  }

  /** In a stream, the text came before. In a whole answer, it comes along. */
  #seal({ seal, text }: SealedReasoning): string {
    const last = this.all.at(-1);
    const isOpen = last?.kind === 'reasoning' && last.seal === undefined;
    const block = isOpen ? last : this.#add('reasoning');
    block.seal = seal;
    return isOpen ? '' : this.#append(block, text);
  }

  #add(kind: AnswerBlock['kind'], callId = '', name = ''): AnswerBlock {
    const block: AnswerBlock = { kind, index: this.all.length, text: '', callId, name };
    this.all.push(block);
    return block;
  }

  #append(block: AnswerBlock, text: string): string {
    // Its arguments were complete, so this can only be white space.
    if (block.index < this.#open) return '';
    block.text += text;
    if (block.index === this.#open) return text === '' ? '' : this.#writer.delta(block, text);
    let told = '';
    while (this.#open < block.index && this.#canClose()) {
      if (this.#open >= 0) told += this.#close();
      told += this.#openNext();
    }
    return told;
  }

  #canClose(): boolean {
    if (this.#isBlocked) return false;
    const open = this.all[this.#open];
    if (open?.kind === 'tool' && !isJson(open.text)) this.#isBlocked = true;
    return !this.#isBlocked;
  }

  #close(): string {
    return this.#writer.close(this.all[this.#open] as AnswerBlock);
  }

  #openNext(): string {
    this.#open += 1;
    const block = this.all[this.#open] as AnswerBlock;
    return this.#writer.open(block) + deltaOf(this.#writer, block);
  }
}

const deltaOf = (writer: BlockWriter, block: AnswerBlock): string =>
  block.text === '' ? '' : writer.delta(block, block.text);

/** The blocks of a whole answer, and how it ended. */
export function blocksOf({ choices, usage }: CompletionResult): AnswerBlocks {
  const blocks = new AnswerBlocks({ open: () => '', delta: () => '', close: () => '' });
  const [choice] = choices;
  if (choice === undefined) return blocks;
  const { message, ...rest } = choice;
  const deltas = stepsOf(message as unknown as JsonObject);
  const steps = deltas.map((delta) => ({ choices: [{ index: choice.index, delta, finish_reason: null }] }));
  for (const chunk of [...steps, { choices: [{ ...rest, delta: {} }], usage }])
    blocks.add(chunk as unknown as CompletionChunk);
  return blocks;
}
