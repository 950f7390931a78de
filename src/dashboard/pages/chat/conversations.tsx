import { ActionIcon, Badge, Checkbox, Text, TextInput, Tooltip, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue, useLocalStorage, useMediaQuery } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { memo, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { When } from '../../ui/when.tsx';
import classes from './conversations.module.css';
import { EditConversation } from './edit-conversation.tsx';
import { EditIcon, PinIcon, SearchIcon, TrashIcon } from './icons.tsx';
import { forget, type Turn, useOfTurns } from './turns.ts';

type Conversation = Schemas['ConversationSummary'];

/** How many results a search looks for before it waits to be asked for more. */
const FOUND_AT_ONCE = 20;
/** Between the last key press and the search. */
const TYPING_MS = 250;
/** How often to poll for a conversation whose first reply is not stored yet. */
const LOOK_AGAIN_MS = 3000;
/** A reply that the service could not complete is never stored, so polling slows down and ends. */
const LONGEST_LOOK_MS = 600_000;

const useConversations = (expected: readonly Expected[], words: string, isWebOnly: boolean) =>
  useInfiniteQuery({
    queryKey: ['conversations', words, isWebOnly],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor, signal }) =>
      ok(
        api.GET('/api/v1/conversations', {
          params: {
            query: {
              limit: words === '' ? 100 : FOUND_AT_ONCE,
              ...(cursor !== '' && { cursor }),
              ...(words !== '' && { q: words }),
              ...(isWebOnly && { source: 'web' as const }),
            },
          },
          signal,
        }),
      ),
    getNextPageParam: ({ next_cursor }) => next_cursor,
    // The list keeps its height while words are typed.
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => {
      const known = new Set(state.data?.pages.flatMap(({ data }) => data.map(({ id }) => id)));
      if (words !== '') return false;
      const missing = expected.filter(({ id }) => !known.has(id));
      const waited = Date.now() - Math.max(...missing.map(({ since }) => since));
      return missing.length > 0 && waited < LONGEST_LOOK_MS && Math.max(LOOK_AGAIN_MS, waited / 2);
    },
  });

type Expected = { id: string; since: number };

/** New conversations whose first reply was stopped. The service stores them once the reply is complete. */
const expectedOf = (turns: readonly Turn[]): Expected[] =>
  turns.flatMap(({ body, conversationId, state, stoppedAt = 0 }) =>
    state === 'stopped' && conversationId !== null && body.conversation_id === undefined
      ? { id: conversationId, since: stoppedAt }
      : [],
  );

const expectedText = (turns: readonly Turn[]) => JSON.stringify(expectedOf(turns));
const useExpected = () => JSON.parse(useOfTurns(expectedText)) as Expected[];

type Props = {
  currentId: string | undefined;
  onDeleted: (id: string) => void;
  onOpen?: () => void;
};

/** Does not render with every word of a reply. */
export const Conversations = memo(function Conversations({ currentId, onDeleted, onOpen }: Props) {
  const [wanted, setWanted] = useState('');
  const [words] = useDebouncedValue(wanted.trim(), TYPING_MS);
  const [isWebOnly, setIsWebOnly] = useLocalStorage({
    key: 'parley.webChatsOnly',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const query = useConversations(useExpected(), words, isWebOnly);
  const { fetchNextPage, hasNextPage, isFetching, isFetchNextPageError } = query;
  const [doomed, setDoomed] = useState<Conversation | null>(null);
  const [edited, setEdited] = useState<Conversation | null>(null);
  const shown = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const isLooking = words !== '' && shown.length < FOUND_AT_ONCE && hasNextPage;
  const isTouch = useMediaQuery('(pointer: coarse)', undefined, { getInitialValueInEffect: false });

  // A page of a search can be empty although more follow.
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
      {(isWebOnly || shown.some(({ key_id: keyId }) => keyId !== null)) && (
        <Checkbox
          size="sm"
          label={t('chat.list.hideApi')}
          checked={isWebOnly}
          onChange={(event) => setIsWebOnly(event.currentTarget.checked)}
        />
      )}
      <Loaded query={query}>
        {() => {
          if (shown.length === 0)
            return (
              <Text size="sm" c="dimmed" px="xs" role="status">
                {isFetching || isLooking
                  ? t('chat.list.searching')
                  : words === ''
                    ? t('chat.list.empty')
                    : t('chat.list.noMatch')}
              </Text>
            );
          return (
            <ul>
              {shown.map((conversation) => (
                <Item
                  key={conversation.id}
                  conversation={conversation}
                  isCurrent={conversation.id === currentId}
                  words={words}
                  onOpen={onOpen}
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
        <BusyButton size="xs" isBusy={query.isFetchingNextPage} onClick={() => fetchNextPage()}>
          {words === '' ? t('chat.list.older') : t('chat.list.searchOlder')}
        </BusyButton>
      )}
      {edited && <EditConversation id={edited.id} onClose={() => setEdited(null)} />}
      {doomed && <Delete conversation={doomed} onClose={() => setDoomed(null)} onDeleted={onDeleted} />}
    </div>
  );
});

type ItemProps = {
  conversation: Conversation;
  isCurrent: boolean;
  /** That were searched for. */
  words: string;
  onOpen: (() => void) | undefined;
  onDelete: (conversation: Conversation) => void;
  onEdit: (conversation: Conversation) => void;
};

const Item = memo(function Item(props: ItemProps) {
  const { conversation, isCurrent, onDelete, onEdit, onOpen, words } = props;
  const { id, key_id: keyId, pinned, snippet, title, updated_at: at } = conversation;
  return (
    <li className={classes.item} data-current={isCurrent || undefined}>
      <Link
        href={`/chat/${id}`}
        className={classes.link ?? ''}
        aria-current={isCurrent ? 'page' : undefined}
        title={title}
        onClick={() => onOpen?.()}
      >
        <span className={classes.title}>
          <Marked text={title} words={words} />
        </span>{' '}
        {snippet && (
          <span className={classes.snippet}>
            <Marked text={snippet} words={words} />
          </span>
        )}{' '}
        <span className={classes.facts}>
          {pinned && (
            <>
              <PinIcon size={14} />
              <VisuallyHidden>{t('chat.list.pinned')}</VisuallyHidden>
            </>
          )}
          {keyId !== null && (
            <Badge size="xs" variant="default">
              {t('chat.list.api')}
            </Badge>
          )}{' '}
          <When at={at} />
        </span>
      </Link>
      <div className={classes.actions}>
        <Tooltip label={t('chat.list.edit')}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={28}
            aria-label={t('chat.list.editTitle', { title })}
            onClick={() => onEdit(conversation)}
          >
            <EditIcon size={16} />
          </ActionIcon>
        </Tooltip>
        <Tooltip label={t('chat.delete.action')}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={28}
            aria-label={t('chat.list.deleteTitle', { title })}
            onClick={() => onDelete(conversation)}
          >
            <TrashIcon size={16} />
          </ActionIcon>
        </Tooltip>
      </div>
    </li>
  );
});

const escaped = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Emphasizes the words in a text. */
function Marked({ text, words }: { text: string; words: string }) {
  if (words === '') return text;
  const parts = text.split(new RegExp(`(${words.split(/\s+/).map(escaped).join('|')})`, 'gi'));
  return parts.map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part));
}

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
