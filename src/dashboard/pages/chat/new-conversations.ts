/** Conversations that begin in this tab. The list shows them before the service has stored them. */
import { titleOf } from '../../../domain/conversation-title.ts';
import type { Schemas } from '../../api/client.ts';
import { isUnderWay, type Turn } from './turn.ts';
import { useOfTurns } from './turns.ts';

export type Conversation = Schemas['ConversationSummary'];

type NewConversation = {
  /** Null until the service has assigned an ID. */
  id: string | null;
  title: string;
  /** `left`: the service completes and stores the reply without this tab. */
  state: 'underWay' | 'left' | 'ended' | 'failed';
  endedAt: number;
  /** The ID of a turn without a conversation ID that the user left for a new chat. */
  leftTurnId: string | undefined;
};

type OfTurns = {
  created: NewConversation[];
  /** Conversations with an in-progress reply. */
  answering: string[];
};

/** After this time, the service has failed to complete the reply and never stores it. */
export const MAX_WAIT_MS = 600_000;
/** Longer than a title, to avoid reading all of a long message with every word of its reply. */
const MAX_TITLE_LENGTH = 1000;

function stateOf(turn: Turn): NewConversation['state'] {
  if (isUnderWay(turn)) return 'underWay';
  if (turn.state === 'failed') return 'failed';
  return turn.state === 'done' || turn.isEnded ? 'ended' : 'left';
}

function newConversationsOf(turn: Turn): NewConversation[] {
  const { body, conversationId: id, endedAt = 0, isAdopted, isLeft } = turn;
  const state = stateOf(turn);
  if (body.conversation_id !== undefined || (isAdopted && state === 'failed')) return [];
  const leftTurnId = id === null && isLeft ? turn.id : undefined;
  return [{ id, title: titleOf(body.message.slice(0, MAX_TITLE_LENGTH)), state, endedAt, leftTurnId }];
}

const ofTurns = (turns: readonly Turn[]): string =>
  JSON.stringify({
    created: turns.flatMap(newConversationsOf),
    answering: turns.filter(isUnderWay).flatMap(({ conversationId }) => conversationId ?? []),
  } satisfies OfTurns);

export const useNewConversations = (): OfTurns => JSON.parse(useOfTurns(ofTurns)) as OfTurns;

/** Conversations that the service will store later. */
export const expectedOf = (created: readonly NewConversation[]): { id: string; since: number }[] =>
  created.flatMap(({ endedAt: since, id, state }) => (state === 'left' && id !== null ? { id, since } : []));

export type Row = {
  key: string;
  conversation: Conversation;
  /** `underWay` while a reply is in progress. `unsaved` if the service has not stored the conversation. */
  progress: 'underWay' | 'unsaved' | undefined;
  isListed: boolean;
  leftTurnId?: string | undefined;
};

/** An empty string for a new chat. */
const keyOf = ({ id, leftTurnId }: NewConversation): string => id ?? leftTurnId ?? '';

/**
 * The rows of the list. Conversations that begin in this tab follow the pinned ones, as they will on the service.
 *
 * @param openId - the open conversation; undefined if it has no ID
 * @param listedAt - when the service listed the conversations, in milliseconds
 */
export function rowsOf(
  listed: readonly Conversation[],
  { answering, created }: OfTurns,
  openId: string | undefined,
  listedAt: number,
): Row[] {
  const known = new Set<string | null>(listed.map(({ id }) => id));
  const progressOf = ({ endedAt, id, state }: NewConversation): Row['progress'] | 'gone' => {
    if (state === 'underWay') return 'underWay';
    // Keep the row until the list has been fetched again.
    if (state === 'ended') return id !== null && listedAt < endedAt ? undefined : 'gone';
    if (state === 'left' && id !== null && Date.now() - endedAt < MAX_WAIT_MS) return 'underWay';
    return (id ?? undefined) === openId ? 'unsaved' : 'gone';
  };
  const added = [...new Map(created.map((one) => [keyOf(one), one])).values()].flatMap((one): Row[] => {
    const progress = progressOf(one);
    return known.has(one.id) || progress === 'gone'
      ? []
      : [
          {
            key: keyOf(one),
            conversation: standIn(one),
            progress,
            isListed: false,
            leftTurnId: one.leftTurnId,
          },
        ];
  });
  const rows = listed.map(
    (conversation): Row => ({
      key: conversation.id,
      conversation,
      progress: answering.includes(conversation.id) ? 'underWay' : undefined,
      isListed: true,
    }),
  );
  const pinned = listed.findIndex((one) => !one.pinned);
  const place = pinned < 0 ? rows.length : pinned;
  return [...rows.slice(0, place), ...added.reverse(), ...rows.slice(place)];
}

function standIn({ endedAt, id, title }: NewConversation): Conversation {
  const at = new Date(endedAt).toISOString();
  return { id: id ?? '', title, pinned: false, key_id: null, created_at: at, updated_at: at };
}
