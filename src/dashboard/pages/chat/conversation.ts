/** A conversation as it is shown: what is stored, and the turns of this tab. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import type { Turn } from './turns.ts';

type Message = Schemas['Message'];

/** A line of the transcript: one that is stored, or a turn of this tab with its question and its answer. */
export type Line = { kind: 'message'; message: Message } | { kind: 'turn'; turn: Turn };

/**
 * The conversation, its newest messages first; more of them on demand.
 *
 * @param isThere - false while the service does not have it yet
 */
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

/** Oldest first. */
export const messagesOf = (pages: Pages | undefined): Message[] =>
  [...(pages ?? [])].reverse().flatMap(({ messages }) => messages);

/**
 * The stored messages with the turns of this tab where they belong. A turn that was read to its end gives way to what is
 * stored of it; one that was stopped stays as it was read.
 */
export function linesOf(messages: readonly Message[], turns: readonly Turn[]): Line[] {
  const lines: Line[] = messages.map((message) => ({ kind: 'message', message }));
  const replaced = new Set<Line>();
  let from = 0;
  for (const turn of turns) {
    const after = messages.findIndex(({ id }) => id === turn.afterId) + 1;
    const place = messages.findIndex(
      ({ content, role }, index) =>
        index >= Math.max(from, after) && role === 'user' && content === turn.body.message,
    );
    if (place < 0) {
      lines.push({ kind: 'turn', turn });
      continue;
    }
    from = place + 2;
    if (turn.state === 'done') continue;
    lines[place] = { kind: 'turn', turn };
    const answer = lines[place + 1];
    if (answer) replaced.add(answer);
  }
  return lines.filter((line) => !replaced.has(line));
}
