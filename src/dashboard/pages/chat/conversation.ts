import { useInfiniteQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import type { Turn } from './turns.ts';

type Message = Schemas['Message'];

export type Line = { kind: 'message'; message: Message } | { kind: 'turn'; turn: Turn };

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
 * Merges the stored messages with the turns of this tab. Stored messages replace a completed turn. A stopped turn stays
 * as it was read.
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
