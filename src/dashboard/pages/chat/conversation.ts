import { useInfiniteQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { isFinal } from '../../api/errors.ts';
import { isUnderWay, type Turn } from './turns.ts';

type Message = Schemas['Message'];

export type Line =
  | { kind: 'message'; key: string; message: Message }
  | { kind: 'turn'; key: string; turn: Turn };

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
 * that nothing is drawn again. A stopped turn stays as it was read. A failed one stays where it was asked.
 */
export function linesOf(messages: readonly Message[], turns: readonly Turn[]): Line[] {
  const lines: Line[] = messages.map((message) => ({ kind: 'message', key: message.id, message }));
  const places = placesOf(messages, turns);
  const unstored = new Map<number, Line[]>();
  const replaced = new Set<Line>();
  let before = 0;
  for (const turn of turns) {
    const line: Line = { kind: 'turn', key: turn.id, turn };
    const place = places.get(turn);
    if (place === undefined) {
      before = Math.max(before, turn.state === 'failed' ? placeOfFailed(messages, turn) : messages.length);
      unstored.set(before, [...(unstored.get(before) ?? []), line]);
      continue;
    }
    before = Math.max(before, place);
    const [question, answer] = [lines[place], lines[place + 1]];
    if (turn.state === 'stopped' || isUnderWay(turn)) {
      lines[place] = line;
      if (answer) replaced.add(answer);
    } else {
      if (question) question.key = questionKey(turn.id);
      if (answer) answer.key = answerKey(turn.id);
    }
  }
  return [...lines, undefined].flatMap((line, index) => [
    ...(unstored.get(index) ?? []),
    ...(line === undefined || replaced.has(line) ? [] : [line]),
  ]);
}

/** Where the images of the last question are. */
export function lastQuestionOf(lines: readonly Line[]): { images?: string[]; messageId?: string } {
  const last = lines.findLast((line) => line.kind === 'turn' || line.message.role === 'user');
  if (last?.kind === 'turn') return last.turn.body.images ? { images: last.turn.body.images } : {};
  return last?.message.images ? { messageId: last.message.id } : {};
}

export const questionKey = (key: string) => `${key} question`;
export const answerKey = (key: string) => `${key} answer`;

/** Behind the message that it was asked after, which may be on a page that is not loaded yet. */
const indexAfter = (messages: readonly Message[], { afterId }: Turn): number =>
  messages.findIndex(({ id }) => id === afterId) + 1;

const placeOfFailed = (messages: readonly Message[], turn: Turn): number =>
  turn.afterId === null && turn.body.conversation_id !== undefined
    ? messages.length
    : indexAfter(messages, turn);

/** Where the questions of turns are stored. Failed turns come last: the same question may have been asked again. */
function placesOf(messages: readonly Message[], turns: readonly Turn[]): Map<Turn, number> {
  const places = new Map<Turn, number>();
  const taken = new Set<number>();
  const find = (turn: Turn, from: number) => {
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
