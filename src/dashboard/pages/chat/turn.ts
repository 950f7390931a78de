/** A question sent from this tab, and its reply. */
import type { Problem } from '../../api/errors.ts';
import type { Settings } from './new-settings.ts';

export type Turn = {
  id: string;
  /** The idempotency key, so that retries are charged once. A new key replaces it after a final outcome. */
  key: string;
  /** When the key was first used, in milliseconds. */
  keyUsedAt: number;
  conversationId: string | null;
  body: Settings & {
    message: string;
    images?: string[];
    conversation_id?: string;
    /** The ID of the message that this turn replaces. */
    replaces?: string;
    model?: string;
  };
  afterId: string | null;
  state: 'sending' | 'streaming' | 'done' | 'stopped' | 'failed';
  text: string;
  isCut: boolean;
  /** How many of the conversation's messages the model did not receive. */
  omitted?: number;
  /** Whether the request may have left this tab. */
  isSent?: boolean;
  /** Null in a failed turn if it was stopped before it was sent. */
  problem: Problem | null;
  /** When the turn was completed or stopped, in milliseconds. */
  endedAt?: number;
  /** Whether the user requested a stop. */
  isStopping?: boolean;
  /** Whether the service stopped the reply. It stores the reply, unless the turn was to replace a message. */
  isEnded?: boolean;
  /** Whether the turn failed as the first question, and a later question began the conversation. */
  isAdopted?: boolean;
  /** Whether the user began a new chat before this conversation had an ID. */
  isLeft?: boolean;
  /** Whether the model is reasoning before its reply. */
  isThinking?: boolean;
  /** Whether the page was reloaded before the reply was complete. */
  isResumed?: boolean;
};

export const isUnderWay = ({ state }: Turn): boolean => state === 'sending' || state === 'streaming';

/** Whether the turn was stopped before it replaced its message. The service does not store such a turn. */
export const keepsOriginal = ({ body, isEnded, state }: Pick<Turn, 'body' | 'isEnded' | 'state'>): boolean =>
  body.replaces !== undefined && state === 'stopped' && isEnded === true;

/** Whether the turn belongs to a conversation, or to a new chat. */
export const isIn = ({ conversationId, isLeft }: Turn, id: string | undefined): boolean =>
  conversationId === (id ?? null) && !(id === undefined && isLeft);

/** Whether the service may not have stored the conversation: it began in this tab, and no reply has ended. */
export const isUnstored = (known: readonly Turn[], conversationId: string): boolean => {
  const own = known.filter((turn) => turn.conversationId === conversationId);
  return (
    own.some(({ body, isAdopted }) => body.conversation_id === undefined && !isAdopted) &&
    !own.some(({ isEnded, state }) => state === 'done' || isEnded)
  );
};
