/** Conversations that begin in this tab. The list shows them before the service has stored them. */
import { titleOf } from '../../../domain/conversation-title.ts';
import type { Schemas } from '../../api/client.ts';
import { isUnderWay, type Turn } from './turn.ts';
import { useOfTurns } from './turns.ts';

export type Conversation = Schemas['ConversationSummary'];

type Begun = {
  /** Null until the service has given it an ID. */
  id: string | null;
  title: string;
  /** `left`: the service completes the answer without this tab, then stores it. */
  state: 'underWay' | 'left' | 'ended' | 'failed';
  endedAt: number;
  /** The turn without an ID that was left for a new chat. */
  leftTurnId: string | undefined;
};

type OfTurns = {
  begun: Begun[];
  /** The conversations with an answer under way. */
  answering: string[];
};

/** A service that could not complete the answer never stores it. */
export const LONGEST_WAIT_MS = 600_000;
/** Longer than a title, so that long messages are not read with every word of their answer. */
const MOST_TITLE = 1000;

function stateOf(turn: Turn): Begun['state'] {
  if (isUnderWay(turn)) return 'underWay';
  if (turn.state === 'failed') return 'failed';
  return turn.state === 'done' || turn.isEnded ? 'ended' : 'left';
}

function begunBy(turn: Turn): Begun[] {
  const { body, conversationId: id, endedAt = 0, isAdopted, isLeft } = turn;
  const state = stateOf(turn);
  if (body.conversation_id !== undefined || (isAdopted && state === 'failed')) return [];
  const leftTurnId = id === null && isLeft ? turn.id : undefined;
  return [{ id, title: titleOf(body.message.slice(0, MOST_TITLE)), state, endedAt, leftTurnId }];
}

const ofTurns = (turns: readonly Turn[]): string =>
  JSON.stringify({
    begun: turns.flatMap(begunBy),
    answering: turns.filter(isUnderWay).flatMap(({ conversationId }) => conversationId ?? []),
  } satisfies OfTurns);

export const useBegun = (): OfTurns => JSON.parse(useOfTurns(ofTurns)) as OfTurns;

/** Those that the service stores later. */
export const expectedOf = (begun: readonly Begun[]): { id: string; since: number }[] =>
  begun.flatMap(({ endedAt: since, id, state }) => (state === 'left' && id !== null ? { id, since } : []));

export type Row = {
  key: string;
  conversation: Conversation;
  /** Undefined once the conversation is stored. */
  progress: 'underWay' | 'unsaved' | undefined;
  isListed: boolean;
  leftTurnId?: string | undefined;
};

/** Empty for the one of a new chat. */
const keyOf = ({ id, leftTurnId }: Begun): string => id ?? leftTurnId ?? '';

/**
 * The rows of the list. What begins in this tab comes where the service will list it: after those that are pinned.
 *
 * @param openId - the conversation that is open; undefined for one without an ID
 * @param listedAt - when the service listed the conversations, in milliseconds
 */
export function rowsOf(
  listed: readonly Conversation[],
  { answering, begun }: OfTurns,
  openId: string | undefined,
  listedAt: number,
): Row[] {
  const known = new Set<string | null>(listed.map(({ id }) => id));
  const progressOf = ({ endedAt, id, state }: Begun): Row['progress'] | 'gone' => {
    if (state === 'underWay') return 'underWay';
    // The list is being fetched again.
    if (state === 'ended') return id !== null && listedAt < endedAt ? undefined : 'gone';
    if (state === 'left' && id !== null && Date.now() - endedAt < LONGEST_WAIT_MS) return 'underWay';
    return (id ?? undefined) === openId ? 'unsaved' : 'gone';
  };
  const added = [...new Map(begun.map((one) => [keyOf(one), one])).values()].flatMap((one): Row[] => {
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

function standIn({ endedAt, id, title }: Begun): Conversation {
  const at = new Date(endedAt).toISOString();
  return { id: id ?? '', title, pinned: false, key_id: null, created_at: at, updated_at: at };
}
