/** Writes streams of Anthropic's Messages API. Contract section 14. */
import type { MessagesEventType } from '../../schemas/messages-events.ts';
import type { AnswerBlock } from './answer-blocks.ts';
import {
  begunMessage,
  emptyBlock,
  type MessageContext,
  signatureOf,
  stopOf,
  usageOf,
} from './messages-answer.ts';
import type { SurfaceWriter } from './surface-script.ts';

const event = (type: MessagesEventType, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

function deltaOf({ kind }: AnswerBlock, text: string): object {
  if (kind === 'reasoning') return { type: 'thinking_delta', thinking: text };
  return kind === 'tool' ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text };
}

/** @param estimatedInput - in tokens, because the engine only counts them at the end */
export function messagesWriter(context: MessageContext, estimatedInput: number): SurfaceWriter {
  const delta = ({ index }: AnswerBlock, change: object) =>
    event('content_block_delta', { index, delta: change });
  return {
    keepsTexts: true,
    start: () =>
      event('message_start', {
        message: begunMessage(context, { inputTokens: estimatedInput, outputTokens: 0 }),
      }),
    open: (block) => event('content_block_start', { index: block.index, content_block: emptyBlock(block) }),
    delta: (block, text) => delta(block, deltaOf(block, text)),
    cite: (block, citation) => delta(block, { type: 'citations_delta', citation }),
    close: (block) =>
      (emptyBlock(block).type === 'thinking'
        ? delta(block, { type: 'signature_delta', signature: signatureOf(block) })
        : '') + event('content_block_stop', { index: block.index }),
    end: (blocks, tokens) =>
      event('message_delta', {
        delta: stopOf(blocks, context),
        usage: usageOf(tokens, blocks),
      }) + event('message_stop', {}),
    error: (envelope) => event('error', envelope),
  };
}
