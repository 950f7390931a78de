import { useInfiniteQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { isFinal } from '../../api/errors.ts';
import { isUnderWay, keepsOriginal, type Turn } from './turn.ts';

type Message = Schemas['Message'];

export type Line =
  /** `images` and `omitted` come from the turn: its images need not load, and the service does not store `omitted`. */
  | {
      kind: 'message';
      key: string;
      message: Message;
      images?: readonly string[] | undefined;
      omitted?: number | undefined;
    }
  /** `messageId` is the ID of the turn's stored question, or of the message that the turn did not replace. */
  | { kind: 'turn'; key: string; turn: Turn; messageId?: string | undefined };

/** @param isThere - false until the service has stored the conversation */
export const useConversation = (id: string | undefined, isThere: boolean) =>
  useInfiniteQuery({
    queryKey: ['conversation', id],
    enabled: id !== undefined && isThere,
    initialPageParam: '',
    queryFn: ({ pageParam: cursor, signal }) =>
      ok(
        api.GET('/api/v1/conversations/{id}', {
          params: { path: { id: id as string }, query: { limit: 100, ...(cursor !== '' && { cursor }) } },
          signal,
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });

type Pages = NonNullable<ReturnType<typeof useConversation>['data']>['pages'];

export const messagesOf = (pages: Pages | undefined): Message[] =>
  [...(pages ?? [])].reverse().flatMap(({ messages }) => messages);

/**
 * Merges the stored messages with the turns of this tab. Stored messages replace a completed turn under its keys, so
 * that nothing renders again. A stopped turn remains as shown. A failed turn, or a turn that was stopped before it
 * replaced a message, remains at its position. Messages that a turn replaces are omitted, although the service deletes
 * them only when it stores the reply.
 */
export function linesOf(stored: readonly Message[], turns: readonly Turn[]): Line[] {
  const messages = stored.slice(0, firstReplaced(stored, turns));
  const lines: Line[] = messages.map((message) => ({ kind: 'message', key: message.id, message }));
  const places = placesOf(messages, turns);
  const unstored = new Map<number, Line[]>();
  const replaced = new Set<Line>();
  let before = 0;
  for (const turn of turns) {
    const messageId = keepsOriginal(turn) ? turn.body.replaces : undefined;
    const line: Line = { kind: 'turn', key: turn.id, turn, messageId };
    const place = places.get(turn);
    if (place === undefined) {
      const isInPlace = turn.state === 'failed' || keepsOriginal(turn);
      before = Math.max(before, isInPlace ? placeOfUnstored(messages, turn) : messages.length);
      unstored.set(before, [...(unstored.get(before) ?? []), line]);
      continue;
    }
    before = Math.max(before, place);
    const [question, answer] = [lines[place], lines[place + 1]];
    if (turn.state === 'stopped' || isUnderWay(turn)) {
      lines[place] = { ...line, messageId: messages[place]?.id };
      if (answer) replaced.add(answer);
    } else {
      if (question?.kind === 'message') {
        question.key = questionKey(turn.id);
        question.images = turn.body.images;
      }
      if (answer?.kind === 'message') {
        answer.key = answerKey(turn.id);
        answer.omitted = turn.omitted;
      }
    }
  }
  return [...lines, undefined].flatMap((line, index) => [
    ...(unstored.get(index) ?? []),
    ...(line === undefined || replaced.has(line) ? [] : [line]),
  ]);
}

/** A question, with its images in this tab or stored with the message. */
export type Question = {
  text: string;
  images?: readonly string[] | undefined;
  /** The ID of a stored message, which has `imageCount` images. */
  messageId?: string | undefined;
  imageCount?: number | undefined;
};

/** The number of images of a stored message that must load. */
export const imageCountOf = (line: Line | undefined): number =>
  line?.kind === 'message' && line.images === undefined ? (line.message.images?.length ?? 0) : 0;

/** The last question without its text. */
export function lastQuestionOf(lines: readonly Line[]): Omit<Question, 'text'> {
  const last = lines.findLast((line) => line.kind === 'turn' || line.message.role === 'user');
  if (last?.kind === 'turn') return { images: last.turn.body.images, messageId: last.messageId };
  return { images: last?.images, messageId: last?.message.id, imageCount: imageCountOf(last) };
}

const modelOf = (line: Line): string | null | undefined =>
  line.kind === 'turn' ? line.turn.body.model : line.message.model;

/** The model of the last reply, or of the question that waits for a reply. */
export const lastModelOf = (lines: readonly Line[]): string | undefined => {
  const last = lines.findLast((line) => modelOf(line));
  return (last && modelOf(last)) ?? undefined;
};

const indexOf = (messages: readonly Message[], messageId: string): number =>
  messages.findIndex(({ id }) => id === messageId);

/** Without a complete reply, the service keeps the messages that the turn would have replaced. */
const isReplacing = (turn: Turn): boolean =>
  turn.state !== 'failed' && !keepsOriginal(turn) && !(turn.state === 'stopped' && turn.text === '');

/** The number of messages before the first replaced message. */
function firstReplaced(messages: readonly Message[], turns: readonly Turn[]): number {
  const places = turns.flatMap((turn) =>
    turn.body.replaces !== undefined && isReplacing(turn) ? indexOf(messages, turn.body.replaces) : [],
  );
  return Math.min(messages.length, ...places.filter((place) => place >= 0));
}

/** The turns of a message and of all later messages, which a new turn replaces. */
export function turnsFrom(
  messages: readonly Message[],
  turns: readonly Turn[],
  messageId: string,
): ReadonlySet<Turn> {
  const first = indexOf(messages, messageId);
  const places = placesOf(messages, turns);
  const isLater = (turn: Turn) =>
    (places.get(turn) ?? -1) >= first ||
    (turn.afterId !== null && indexOf(messages, turn.afterId) >= first) ||
    (keepsOriginal(turn) && indexOf(messages, turn.body.replaces as string) >= first);
  return new Set(turns.filter(isLater));
}

export const questionKey = (key: string) => `${key} question`;
export const answerKey = (key: string) => `${key} answer`;

/** The position after the message that preceded the turn. That message may be on a page that has not loaded yet. */
const indexAfter = (messages: readonly Message[], { afterId }: Turn): number =>
  messages.findIndex(({ id }) => id === afterId) + 1;

function placeOfUnstored(messages: readonly Message[], turn: Turn): number {
  const { conversation_id: continued, replaces } = turn.body;
  // Below the reply to the question that the turn did not replace.
  const kept = replaces === undefined ? -1 : indexOf(messages, replaces);
  if (kept >= 0) return Math.min(kept + 2, messages.length);
  return turn.afterId === null && continued !== undefined ? messages.length : indexAfter(messages, turn);
}

/** Finds the stored questions of turns. Failed turns come last, because a later turn may repeat their question. */
function placesOf(messages: readonly Message[], turns: readonly Turn[]): Map<Turn, number> {
  const places = new Map<Turn, number>();
  const taken = new Set<number>();
  const find = (turn: Turn, from: number) => {
    if (keepsOriginal(turn)) return from;
    // Storing the turn deletes the messages that it replaces.
    if (turn.body.replaces !== undefined && indexOf(messages, turn.body.replaces) >= 0) return from;
    const start = Math.max(from, indexAfter(messages, turn));
    const place = messages.findIndex(
      ({ content, role }, index) =>
        index >= start && role === 'user' && content === turn.body.message && !taken.has(index),
    );
    if (place < 0) return from;
    places.set(turn, place);
    taken.add(place);
    return place + 2;
  };
  let from = 0;
  for (const turn of turns) if (turn.state !== 'failed') from = find(turn, from);
  for (const turn of turns)
    if (turn.state === 'failed' && !(turn.problem && isFinal(turn.problem))) find(turn, 0);
  return places;
}
