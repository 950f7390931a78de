import { Checkbox, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useLocalStorage } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { memo, useEffect, useRef, useState } from 'react';
import { api, ok } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { OlderButton } from '../../ui/older-button.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { Item } from './conversation-item.tsx';
import classes from './conversations.module.css';
import { EditConversation } from './edit-conversation.tsx';
import { SearchIcon } from './icons.tsx';
import { useIsTouch } from './keys.ts';
import {
  type Conversation,
  expectedOf,
  MAX_WAIT_MS,
  rowsOf,
  useNewConversations,
} from './new-conversations.ts';
import { forget } from './turns.ts';

/** How many results a search loads before the user has to request more. */
const FOUND_AT_ONCE = 20;
/** The pause between the last key press and the search. */
const TYPING_MS = 250;
/** How often to poll for a conversation whose first reply is not stored yet. */
const LOOK_AGAIN_MS = 3000;

async function listed(words: string, showsApi: boolean, cursor: string, signal: AbortSignal) {
  const list = (query: { limit: number; cursor?: string; q?: string; source?: 'web' }) =>
    ok(api.GET('/api/v1/conversations', { params: { query }, signal }));
  const page = await list({
    limit: words === '' ? 100 : FOUND_AT_ONCE,
    ...(cursor !== '' && { cursor }),
    ...(words !== '' && { q: words }),
    ...(!showsApi && { source: 'web' as const }),
  });
  const isNone = !showsApi && words === '' && cursor === '' && page.data.length === 0;
  return { ...page, hasOnlyApi: isNone && (await list({ limit: 1 })).data.length > 0 };
}

const useConversations = (expected: readonly Expected[], words: string, showsApi: boolean) =>
  useInfiniteQuery({
    queryKey: ['conversations', words, showsApi],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor, signal }) => listed(words, showsApi, cursor, signal),
    getNextPageParam: ({ next_cursor }) => next_cursor,
    // Keeps the height of the list while the user types.
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => {
      const known = new Set(state.data?.pages.flatMap(({ data }) => data.map(({ id }) => id)));
      if (words !== '') return false;
      const missing = expected.filter(({ id }) => !known.has(id));
      const waited = Date.now() - Math.max(...missing.map(({ since }) => since));
      // The service never stores a reply that it could not complete, so polling slows down and ends.
      return missing.length > 0 && waited < MAX_WAIT_MS && Math.max(LOOK_AGAIN_MS, waited / 2);
    },
  });

type Expected = ReturnType<typeof expectedOf>[number];

type Props = {
  currentId: string | undefined;
  onDeleted: (id: string) => void;
  onOpen?: () => void;
};

/** Does not render with every word of a reply. */
export const Conversations = memo(function Conversations({ currentId, onDeleted, onOpen }: Props) {
  const [wanted, setWanted] = useState('');
  const [words] = useDebouncedValue(wanted.trim(), TYPING_MS);
  const [showsApi, setShowsApi] = useLocalStorage({
    key: 'parley.apiChats',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const fromTurns = useNewConversations();
  const query = useConversations(expectedOf(fromTurns.created), words, showsApi);
  const { fetchNextPage, hasNextPage, isFetching, isFetchNextPageError } = query;
  const [doomed, setDoomed] = useState<Conversation | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const [edited, setEdited] = useState<Conversation | null>(null);
  const shown = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const isLooking = words !== '' && shown.length < FOUND_AT_ONCE && hasNextPage;
  // A search finds only stored conversations.
  const rows = rowsOf(
    shown,
    words === '' ? fromTurns : { ...fromTurns, created: [] },
    currentId,
    query.dataUpdatedAt,
  );
  const hasOnlyApi = query.data?.pages[0]?.hasOnlyApi ?? false;
  const isTouch = useIsTouch();
  const pin = useMutation({
    mutationFn: ({ id, pinned }: Conversation) =>
      ok(api.PATCH('/api/v1/conversations/{id}', { params: { path: { id } }, body: { pinned: !pinned } })),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['conversations'] }),
  });

  const emptyText = words !== '' ? 'chat.list.noMatch' : hasOnlyApi ? 'chat.list.onlyApi' : 'chat.list.empty';

  // A page of search results can be empty although more pages follow.
  useEffect(() => {
    if (isLooking && !isFetching && !isFetchNextPageError) void fetchNextPage();
  }, [isLooking, isFetching, isFetchNextPageError, fetchNextPage]);

  return (
    <div className={classes.list}>
      <TextInput
        type="search"
        aria-label={t('chat.list.search')}
        placeholder={t('chat.list.search')}
        maxLength={200}
        leftSection={<SearchIcon size={18} />}
        // In a dialog on a phone, the keyboard would cover the list.
        data-autofocus={!isTouch || undefined}
        value={wanted}
        onChange={(event) => setWanted(event.currentTarget.value)}
      />
      {(showsApi || hasOnlyApi || rows.length > 0 || words !== '') && (
        <Checkbox
          size="sm"
          label={t('chat.list.showApi')}
          checked={showsApi}
          onChange={(event) => setShowsApi(event.currentTarget.checked)}
        />
      )}
      {pin.isError && <ProblemAlert error={pin.error} />}
      <Loaded query={query}>
        {() => {
          if (rows.length === 0)
            return (
              <Text size="sm" c="dimmed" px="xs" role="status">
                {isFetching || isLooking ? t('chat.list.searching') : t(emptyText)}
              </Text>
            );
          return (
            <ul ref={list} tabIndex={-1}>
              {rows.map(({ key, conversation, isListed, leftTurnId, progress }) => (
                <Item
                  key={key}
                  conversation={conversation}
                  progress={progress}
                  isListed={isListed}
                  leftTurnId={leftTurnId}
                  isCurrent={key === (currentId ?? '')}
                  words={words}
                  onOpen={onOpen}
                  onPin={pin.mutate}
                  onDelete={setDoomed}
                  onEdit={setEdited}
                />
              ))}
            </ul>
          );
        }}
      </Loaded>
      {isFetchNextPageError && <ProblemAlert error={query.error} />}
      {hasNextPage && !isLooking && (
        <OlderButton list={list} size="xs" isBusy={query.isFetchingNextPage} onClick={() => fetchNextPage()}>
          {words === '' ? t('chat.list.older') : t('chat.list.searchOlder')}
        </OlderButton>
      )}
      {edited && <EditConversation id={edited.id} onClose={() => setEdited(null)} />}
      {doomed && <Delete conversation={doomed} onClose={() => setDoomed(null)} onDeleted={onDeleted} />}
    </div>
  );
});

type DeleteProps = { conversation: Conversation; onClose: () => void; onDeleted: (id: string) => void };

function Delete({ conversation: { id, title }, onClose, onDeleted }: DeleteProps) {
  const remove = useMutation({
    mutationFn: () => ok(api.DELETE('/api/v1/conversations/{id}', { params: { path: { id } } })),
    onSuccess: async () => {
      forget(({ conversationId }) => conversationId === id);
      onDeleted(id);
      queryClient.removeQueries({ queryKey: ['conversation', id] });
      await queryClient.invalidateQueries({ queryKey: ['conversations'] });
      onClose();
    },
  });
  return (
    <Confirm
      title={t('chat.delete.question')}
      action={t('chat.delete.action')}
      isDangerous
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Text>{t('chat.delete.about', { title })}</Text>
    </Confirm>
  );
}
