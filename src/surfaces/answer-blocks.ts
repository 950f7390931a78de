/** Reads an engine's reply as blocks, of which one is open at a time. Contract section 14. */
import { newId } from '../domain/ids.ts';
import { stepsOf } from '../engines/message-steps.ts';
import { type Seal, type SealedReasoning, sealedReasoning } from '../engines/reasoning-details.ts';
import { boundaryOf, chatLogprobs, objectsIn } from '../engines/text-details.ts';
import type { CompletionChunk, CompletionResult } from '../engines/types.ts';
import { isObject, type JsonObject, stringIn, wholeNumber } from '../engines/upstream/json.ts';

export type AnswerBlock = {
  kind: 'text' | 'refusal' | 'reasoning' | 'tool';
  /** The block's position in the reply, from 0. */
  index: number;
  /** The text so far. For a tool call, its arguments as JSON. */
  text: string;
  /** For a tool call; otherwise empty, like `name`. */
  callId: string;
  name: string;
  /** For a text of OpenAI's models: its purpose, such as `commentary`. */
  phase?: string;
  /** For reasoning that only its model can read or verify. It may arrive after the text. */
  seal?: Seal;
  /** For a text. */
  notes?: TextNotes;
};

/** Details that a model's API returns about a text. */
export type TextNotes = {
  /** Where the text begins in the sequence of all texts, in characters. Annotations count from the first text. */
  start: number;
  /** Annotations in the format of chat completions. */
  annotations: JsonObject[];
  /** Citations from Anthropic's models. */
  citations: JsonObject[];
  /** Log probabilities of OpenAI's tokens. */
  logprobs: JsonObject[];
};

/** Writes a surface's events for each step of a block. At `open`, none of the block's text has been sent. */
export type BlockWriter = {
  /** Whether consecutive texts stay separate, as in Anthropic's messages. */
  keepsTexts?: boolean;
  open(block: AnswerBlock): string;
  /** @param logprobs - the log probabilities of the text's tokens */
  delta(block: AnswerBlock, text: string, logprobs: readonly JsonObject[]): string;
  /** Writes an annotation or a citation, the block's newest of its kind. */
  annotate?(block: AnswerBlock, annotation: JsonObject): string;
  cite?(block: AnswerBlock, citation: JsonObject): string;
  close(block: AnswerBlock): string;
};

type TextKind = Exclude<AnswerBlock['kind'], 'tool'>;
type Delta = Readonly<Record<string, unknown>>;

/** In the order of reading from a delta. Servers use one of two names for reasoning. */
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
  /** In the order of the reply. Their texts are complete, even if some text has not been sent yet. */
  readonly all: AnswerBlock[] = [];
  finishReason: string | null = null;
  /** Whether the client stopped the reply. */
  isStopped = false;
  /** The stop sequence that ended the reply, if the engine names it. */
  stopSequence: string | null = null;
  /** The engine's own name for the finish reason. */
  nativeReason: string | null = null;
  /** The engine's details about a refusal. */
  stopDetails: JsonObject | null = null;
  /** Parts of the token counts, 0 if the engine does not report them. */
  cachedTokens = 0;
  cacheWriteTokens = 0;
  reasoningTokens = 0;
  /** The parts of `cacheWriteTokens`, if the engine reports them. */
  cacheCreation: JsonObject | null = null;
  readonly #writer: BlockWriter;
  readonly #calls = new Map<unknown, AnswerBlock>();
  /** The index of the open block; -1 before the first. */
  #open = -1;
  /** Set if another block began before the open tool call was complete. Other blocks then wait for the reply's end. */
  #isBlocked = false;
  /** The total length of all texts, in characters. */
  #length = 0;

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  /** Returns the events to send for a chunk. Only the first choice counts. */
  add({ choices, usage }: CompletionChunk): string {
    const [choice] = choices;
    if (usage) this.#count(usage as Delta);
    if (choice === undefined) return '';
    const { delta, finish_reason: finishReason, ...rest } = choice;
    const events = this.#read(delta as JsonObject, logprobsOf(rest));
    if (finishReason !== null) this.#finish(finishReason, rest);
    return events;
  }

  /** Closes all blocks and returns their events. Call it after the last chunk. */
  end(): string {
    let events = this.#open < 0 ? '' : this.#close();
    while (this.#open + 1 < this.all.length) {
      events += this.#openNext() + this.#close();
    }
    return events;
  }

  /** Writes all blocks so far to another writer, each as a whole. */
  replayTo(writer: BlockWriter): string {
    return this.all
      .map((block) => writer.open(block) + contentOf(writer, block) + writer.close(block))
      .join('');
  }

  #finish(finishReason: string, rest: Delta): void {
    const { native_finish_reason: native, stop_details: details, stop_reason: stopSequence } = rest;
    this.finishReason = finishReason;
    // OpenRouter's name for the field.
    if (typeof native === 'string') this.nativeReason = native;
    // vLLM's name for the field.
    if (typeof stopSequence === 'string') this.stopSequence = stopSequence;
    if (isObject(details)) this.stopDetails = details;
  }

  #count({ completion_tokens_details: output, prompt_tokens_details: input }: Delta): void {
    if (isObject(input)) {
      this.cachedTokens = wholeNumber(input.cached_tokens) ?? 0;
      this.cacheWriteTokens = wholeNumber(input.cache_write_tokens) ?? 0;
      if (isObject(input.cache_creation)) this.cacheCreation = input.cache_creation;
    }
    if (isObject(output)) this.reasoningTokens = wholeNumber(output.reasoning_tokens) ?? 0;
  }

  #read(delta: JsonObject, logprobs: readonly JsonObject[]): string {
    const sealed = sealedReasoning(delta);
    let events = sealed.map((one) => this.#seal(one)).join('');
    // Sealed reasoning contains the same text.
    let hasReasoning = sealed.length > 0;
    for (const [field, kind] of textFields) {
      const text = stringIn(delta[field]);
      // Some servers send the same reasoning under both names.
      if (text === '' || (kind === 'reasoning' && hasReasoning)) continue;
      hasReasoning ||= kind === 'reasoning';
      events +=
        kind === 'text' ? this.#write(delta, text, logprobs) : this.#append(this.#blockOf(kind), text);
    }
    events += this.#note(delta);
    if (Array.isArray(delta.tool_calls))
      for (const call of delta.tool_calls as unknown[]) if (isObject(call)) events += this.#call(call);
    return events;
  }

  #write(delta: JsonObject, text: string, logprobs: readonly JsonObject[]): string {
    const block = this.#textBlock(delta);
    this.#length += text.length;
    if (logprobs.length > 0) block.notes?.logprobs.push(...logprobs);
    return this.#append(block, text, logprobs);
  }

  /** Annotations belong to the text before them. A citation may precede the text of its block. */
  #note(delta: JsonObject): string {
    let events = '';
    const citations = objectsIn(delta.citations);
    if (citations.length > 0) {
      const block = stringIn(delta.content) === '' ? this.#textBlock(delta) : this.all.at(-1);
      if (block !== undefined)
        events += this.#append(block, '') + this.#noteAll(block, 'citations', citations);
    }
    const annotations = objectsIn(delta.annotations);
    const text = annotations.length > 0 ? this.all.findLast(({ kind }) => kind === 'text') : undefined;
    return text === undefined ? events : events + this.#noteAll(text, 'annotations', annotations);
  }

  #noteAll(block: AnswerBlock, kind: 'annotations' | 'citations', added: JsonObject[]): string {
    let events = '';
    for (const note of added) {
      block.notes?.[kind].push(note);
      if (block.index === this.#open) events += noted[kind](this.#writer, block, note);
    }
    return events;
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

  #blockOf(kind: TextKind): AnswerBlock {
    const last = this.all.at(-1);
    return last?.kind === kind && last.seal === undefined ? last : this.#add(kind);
  }

  #textBlock(delta: JsonObject): AnswerBlock {
    const boundary = boundaryOf(delta);
    const phase = stringIn(delta.phase);
    const begins =
      phase !== '' || boundary === 'message' || (boundary === 'block' && this.#writer.keepsTexts === true);
    const last = this.all.at(-1);
    if (last?.kind === 'text' && !begins) return last;
    const block = this.#add('text');
    if (phase !== '') block.phase = phase;
    block.notes = { start: this.#length, annotations: [], citations: [], logprobs: [] };
    return block;
  }

  /** In a stream, the text has arrived before its seal. In a whole reply, both arrive together. */
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

  #append(block: AnswerBlock, text: string, logprobs: readonly JsonObject[] = []): string {
    // The arguments of this tool call were complete, so the text can only be white space.
    if (block.index < this.#open) return '';
    block.text += text;
    if (block.index === this.#open) return text === '' ? '' : this.#writer.delta(block, text, logprobs);
    let events = '';
    while (this.#open < block.index && this.#canClose()) {
      if (this.#open >= 0) events += this.#close();
      events += this.#openNext();
    }
    return events;
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
    return this.#writer.open(block) + contentOf(this.#writer, block);
  }
}

const noted = {
  annotations: (writer: BlockWriter, block: AnswerBlock, note: JsonObject) =>
    writer.annotate?.(block, note) ?? '',
  citations: (writer: BlockWriter, block: AnswerBlock, note: JsonObject) => writer.cite?.(block, note) ?? '',
};

/** Writes the whole content of a block so far. */
function contentOf(writer: BlockWriter, block: AnswerBlock): string {
  const { annotations = [], citations = [], logprobs = [] } = block.notes ?? {};
  return [
    block.text === '' ? '' : writer.delta(block, block.text, logprobs),
    ...annotations.map((note) => noted.annotations(writer, block, note)),
    ...citations.map((note) => noted.citations(writer, block, note)),
  ].join('');
}

const logprobsOf = ({ logprobs }: Delta): JsonObject[] =>
  isObject(logprobs) ? objectsIn(logprobs.content) : [];

/**
 * The blocks of a whole reply, and how it ended.
 *
 * @param keepsTexts - as in `BlockWriter`
 */
export function blocksOf({ choices, usage }: CompletionResult, keepsTexts = false): AnswerBlocks {
  const blocks = new AnswerBlocks({ keepsTexts, open: () => '', delta: () => '', close: () => '' });
  const [choice] = choices;
  if (choice === undefined) return blocks;
  const { logprobs, message, ...rest } = choice;
  const whole = message as unknown as JsonObject;
  const steps = stepsOf(whole).map((delta) => {
    // The log probabilities of a whole message are those of its choice.
    const own = delta === whole ? logprobs : chatLogprobs(delta.logprobs);
    return { choices: [{ index: choice.index, delta, finish_reason: null, logprobs: own }] };
  });
  for (const chunk of [...steps, { choices: [{ ...rest, delta: {} }], usage }])
    blocks.add(chunk as unknown as CompletionChunk);
  return blocks;
}
