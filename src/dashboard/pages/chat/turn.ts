/** A question of this tab and its answer. */
import type { Problem } from '../../api/errors.ts';
import type { Settings } from './new-settings.ts';

export type Turn = {
  id: string;
  /** Its Idempotency-Key, so retries are charged once. Replaced when the outcome is final. */
  key: string;
  /** When the key was first used. */
  keyUsedAt: number;
  conversationId: string | null;
  body: Settings & {
    message: string;
    images?: string[];
    conversation_id?: string;
    /** The message that it takes the place of. */
    replaces?: string;
    model?: string;
  };
  afterId: string | null;
  state: 'sending' | 'streaming' | 'done' | 'stopped' | 'failed';
  text: string;
  isCut: boolean;
  /** How many of the conversation's messages were not sent to the model. */
  omitted?: number;
  /** Its request may have left this tab. */
  isSent?: boolean;
  /** Null in a failed turn that was stopped before it was sent. */
  problem: Problem | null;
  /** When it was done or stopped. */
  endedAt?: number;
  /** The service was asked to stop it. */
  isStopping?: boolean;
  /** The service ended the answer where it was stopped, and has stored it so, unless it was to replace another one. */
  isEnded?: boolean;
  /** It failed as the first question, and its conversation began with a later one. */
  isAdopted?: boolean;
  /** A new chat was begun before its conversation had an ID. */
  isLeft?: boolean;
  /** The model reasons before it answers. */
  isThinking?: boolean;
  /** The page was reloaded before the answer was complete. */
  isResumed?: boolean;
};

export const isUnderWay = ({ state }: Turn): boolean => state === 'sending' || state === 'streaming';

/** Stopped, so it did not take the place of the message that it was to replace. The service does not store it. */
export const keepsOriginal = ({ body, isEnded, state }: Pick<Turn, 'body' | 'isEnded' | 'state'>): boolean =>
  body.replaces !== undefined && state === 'stopped' && isEnded === true;

/** Whether a turn is shown in a conversation, or in a new chat. */
export const isIn = ({ conversationId, isLeft }: Turn, id: string | undefined): boolean =>
  conversationId === (id ?? null) && !(id === undefined && isLeft);

/** Whether the service may not have stored the conversation yet: it began in this tab, and no reply was read to its end. */
export const isUnstored = (known: readonly Turn[], conversationId: string): boolean => {
  const own = known.filter((turn) => turn.conversationId === conversationId);
  return (
    own.some(({ body, isAdopted }) => body.conversation_id === undefined && !isAdopted) &&
    !own.some(({ isEnded, state }) => state === 'done' || isEnded)
  );
};
