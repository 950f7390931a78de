/** A turn of Parley's own chat API. Contract section 7. */
import type { Static } from '@sinclair/typebox';
import { type ChatReply, type ChatRequest, finishReasons } from '../../schemas/chat.ts';
import type { MessageImage } from '../database/tables.ts';
import { titleOf } from '../domain/conversation-title.ts';
import { newId } from '../domain/ids.ts';
import { wasStopped } from '../domain/stop.ts';
import { hasOutput, hasReasoning } from '../engines/first-output.ts';
import type { ChatEngine, CompletionInput } from '../engines/types.ts';
import { once, type Script, Tally } from '../requests/stream-script.ts';
import type { History } from '../store/conversation-history.ts';
import type { Conversation, Owner, Turn } from '../store/conversations.ts';
import { contentOf } from './images.ts';

export type ChatTurn = {
  owner: Owner;
  input: CompletionInput;
  message: string;
  /** The images as `data:` URLs, and their kinds. */
  images: { urls: readonly string[]; kinds: MessageImage[] };
  history: { included: number; omitted: number };
  /** Null if nothing is stored. */
  conversationId: string | null;
  isNew: boolean;
  replacedId: string | undefined;
};

type ChatBody = Static<typeof ChatRequest>;

/** Adds the conversation's settings to a request that does not set them. */
export function withSettings(body: ChatBody, conversation: Conversation | undefined): ChatBody {
  const instructions = body.instructions ?? conversation?.instructions ?? undefined;
  const temperature = body.temperature ?? conversation?.temperature ?? undefined;
  return {
    ...body,
    ...(instructions !== undefined && { instructions }),
    ...(temperature !== undefined && { temperature }),
  };
}

export function chatTurn(
  owner: Owner,
  body: ChatBody,
  model: string,
  history: History,
  kinds: MessageImage[] = [],
): ChatTurn {
  const {
    conversation_id: continued,
    images: urls = [],
    instructions,
    max_output_tokens: maxTokens,
    message,
    replaces: replacedId,
    temperature,
  } = body;
  return {
    owner,
    message,
    images: { urls, kinds },
    history: { included: history.included, omitted: history.omitted },
    conversationId: body.store === false ? null : (continued ?? newId()),
    isNew: continued === undefined,
    replacedId,
    input: {
      model,
      messages: [
        ...(instructions ? [{ role: 'system' as const, content: instructions }] : []),
        // Omit replies that were stopped before their first word. Some models reject empty messages.
        ...history.messages
          .filter(({ content }) => content !== '')
          .map(({ content, images, role }) => ({ role, content: contentOf(content, images) })),
        { role: 'user', content: contentOf(message, urls) },
      ],
      ...(temperature !== undefined && { temperature }),
      ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    },
  };
}

export type FinishedReply = {
  /** The request ID of the admission. */
  id: string;
  text: string;
  finishReason: string | null | undefined;
  inputTokens: number;
  outputTokens: number;
  isStopped: boolean;
};

export function replyTo(turn: ChatTurn, answered: FinishedReply): Static<typeof ChatReply> {
  return {
    id: answered.id,
    conversation_id: turn.conversationId,
    model: turn.input.model,
    reply: answered.text,
    finish_reason: toFinishReason(answered.finishReason ?? 'stop'),
    ...(answered.isStopped && { stopped: true }),
    usage: { input_tokens: answered.inputTokens, output_tokens: answered.outputTokens },
    history: turn.history,
    created_at: new Date().toISOString(),
  };
}

/** Maps unknown reasons to `stop`. */
const toFinishReason = (reason: string) => finishReasons.find((known) => known === reason) ?? 'stop';

type Ending = Pick<FinishedReply, 'text' | 'isStopped' | 'finishReason'> & {
  /** Whether the reply ended on its own. Only then may it replace another one. */
  isWhole: boolean;
};

/** Returns the turn to store; empty if nothing is stored, or if an incomplete reply would replace another one. */
export function storedTurn(
  turn: ChatTurn,
  { finishReason, isStopped, isWhole, text }: Ending,
): { turn?: Turn } {
  const { conversationId, images, input, isNew, message, owner, replacedId } = turn;
  if (conversationId === null || (replacedId !== undefined && !isWhole)) return {};
  return {
    turn: {
      ...owner,
      conversationId,
      isNew,
      ...(replacedId !== undefined && { replacedId }),
      title: titleOf(message),
      question: { id: newId(), content: message, ...(images.urls.length > 0 && { images }) },
      answer: {
        id: newId(),
        content: text,
        model: input.model,
        isStopped,
        finishReason: finishReason ? toFinishReason(finishReason) : null,
      },
    },
  };
}

const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

export function chatScript(engine: ChatEngine, turn: ChatTurn, id: string, signal: AbortSignal): Script {
  const { conversationId, input } = turn;
  const tally = new Tally(input);
  let text = '';
  let finishReason: string | null = null;
  const isStopped = () => wasStopped(signal);
  /** The client may have disconnected between the end of the reply and the end of the stream. */
  const isWhole = () => !isStopped() && (finishReason !== null || !signal.aborted);

  const opening = { id, conversation_id: conversationId, model: input.model };
  const start = once((isReasoning?: boolean) =>
    event('start', { ...opening, ...(isReasoning && { reasoning: true }) }),
  );
  let doneEvent: string | undefined;
  const done = () => {
    doneEvent ??= event(
      'done',
      replyTo(turn, { id, text, finishReason, isStopped: isStopped(), ...tally.tokens() }),
    );
    return doneEvent;
  };

  return {
    chunks: () => engine.stream(input, signal),
    encode(chunk) {
      tally.add(chunk);
      const [choice] = chunk.choices;
      finishReason = choice?.finish_reason ?? finishReason;
      const piece = choice?.delta.content;
      // The role alone does not show whether the model begins with reasoning.
      if (!piece) return hasOutput(chunk) ? start(hasReasoning(chunk)) : '';
      text += piece;
      return start() + event('delta', { text: piece });
    },
    outcome: (isKept) => ({
      model: input.model,
      ...tally.tokens(),
      // A question whose reply never began is not a turn.
      ...(isKept &&
        (text !== '' || finishReason !== null) &&
        storedTurn(turn, { text, finishReason, isStopped: isStopped(), isWhole: isWhole() })),
    }),
    end: () => start() + done(),
    replay: (envelope) =>
      event('start', opening) +
      (text === '' ? '' : event('delta', { text })) +
      (envelope === undefined ? done() : event('error', envelope)),
    error: (envelope) => start() + event('error', envelope),
  };
}
