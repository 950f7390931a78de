import { ActionIcon, Alert, Button, Text, Title, Tooltip } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { toProblem, unreachable } from '../../api/errors.ts';
import { useUsage } from '../../api/usage.ts';
import { wasNavigated } from '../../shell/navigation.ts';
import { t } from '../../texts/language.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { DownloadIcon, PlusIcon } from '../../ui/icons.tsx';
import { LoadingLines } from '../../ui/loaded.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import classes from './chat.module.css';
import { Composer } from './composer.tsx';
import { lastQuestionOf, linesOf, messagesOf, useConversation } from './conversation.ts';
import { Conversations } from './conversations.tsx';
import { DownloadDialog } from './download-dialog.tsx';
import { draftOf, moveDraft, setDraft } from './drafts.ts';
import { DownIcon, ListIcon } from './icons.tsx';
import type { Question } from './message.tsx';
import { useModels } from './models.ts';
import { movePictures, readPictures, setPictures } from './pictures.ts';
import { leftOf, OutOfQuota, QuotaLine } from './quota.tsx';
import { useFollowing } from './scroll.ts';
import { useStable } from './stable.ts';
import { Suggestions } from './suggestions.tsx';
import { Transcript } from './transcript.tsx';
import { adopt, ask, askAgain, forget, isUnderWay, isUnstored, stop, type Turn, useTurns } from './turns.ts';

export default function Chat() {
  const { id } = useParams<{ id?: string }>();
  const [, navigate] = useLocation();
  const [isListOpen, setIsListOpen] = useState(false);
  const [isDownloadOpen, setIsDownloadOpen] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const { isAway, toEnd } = useFollowing(content);
  const { data: usage } = useUsage();
  const models = useModels();

  const allTurns = useTurns();
  const turns = allTurns.filter(({ conversationId }) => conversationId === (id ?? null));
  const isNew = id !== undefined && isUnstored(allTurns, id);
  const query = useConversation(id, !isNew);
  const { data, error } = query;
  const messages = useMemo(() => messagesOf(data?.pages), [data?.pages]);
  const lines = linesOf(messages, turns);
  const current = turns.find(isUnderWay);
  const title =
    data?.pages[0]?.title ?? turns[0]?.body.message ?? t(id === undefined ? 'chat.new' : 'chat.conversation');
  const isEmpty = lines.length === 0 && (id === undefined || (data !== undefined && !isNew));

  // Lets a callback check whether its conversation is still the one shown.
  const shownId = useRef(id);
  useEffect(() => {
    shownId.current = id;
    return () => {
      shownId.current = 'elsewhere';
    };
  }, [id]);
  const named = (conversationId: string) => {
    if (shownId.current !== undefined) return;
    moveDraft(id ?? '', conversationId);
    movePictures(id ?? '', conversationId);
    navigate(`/chat/${conversationId}`, { replace: true });
  };

  useEffect(() => {
    document.title = `${title} · Parley`;
  }, [title]);

  const isWide = useRef(matchMedia('(min-width: 48em)').matches);
  /** The pressed button may be gone. On phones, focusing the field would open the keyboard. */
  const refocus = () => (isWide.current ? field : heading).current?.focus({ preventScroll: true });
  useEffect(() => {
    toEnd();
    if (wasNavigated() && isWide.current) field.current?.focus({ preventScroll: true });
  }, [id, toEnd]);

  const currentId = current?.id;
  useEffect(() => {
    if (currentId === undefined) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !document.querySelector('[role="dialog"]')) stop(currentId);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [currentId]);

  const send = (message: string, images: readonly string[] = []) => {
    // A conversation that failed before it was stored cannot be continued, so start a new one.
    const isLost = isNew && turns.every(({ state }) => state === 'failed');
    const continued = isLost ? undefined : id;
    if (isLost) navigate('/chat', { replace: true });
    if (continued === undefined) shownId.current = undefined;
    // Failed questions stay where they were asked, because some stay charged.
    if (continued === undefined) adopt((turn) => turns.includes(turn));
    const body = {
      message,
      ...(images.length > 0 && { images: [...images] }),
      ...(continued !== undefined && { conversation_id: continued }),
      ...(models.chosen !== undefined && { model: models.chosen }),
    };
    ask({ conversationId: continued ?? null, body, afterId: messages.at(-1)?.id ?? null }, named);
    requestAnimationFrame(toEnd);
  };

  /** `before` is the draft to restore if the edit is canceled. */
  const [edit, setEdit] = useState<{ id: string | undefined; before: string } | null>(null);
  const cancelEdit = (before: string) => {
    setEdit(null);
    setDraft(id ?? '', before);
    setPictures(id ?? '', []);
    field.current?.focus();
  };

  const newChat = () => {
    forget((turn) => turn.conversationId === null);
    setIsListOpen(false);
    navigate('/chat');
    field.current?.focus();
  };

  const isOut = usage !== undefined && leftOf(usage) === 0;
  const closeList = useCallback(() => setIsListOpen(false), []);
  const onDeleted = useStable((deleted: string) => {
    setDraft(deleted, '');
    if (deleted === id) navigate('/chat', { replace: true });
  });
  const list = <Conversations currentId={id} onOpen={closeList} onDeleted={onDeleted} />;
  const [isUnread, setIsUnread] = useState(false);
  /** Undefined, and says so, if they cannot be read. */
  const imagesOf = async ({ images = [], messageId }: Question): Promise<readonly string[] | undefined> => {
    setIsUnread(false);
    if (messageId === undefined || id === undefined) return images;
    try {
      return await readPictures(id, messageId);
    } catch {
      setIsUnread(true);
      return undefined;
    }
  };
  const onEdit = useStable(async (question: Question) => {
    const images = await imagesOf(question);
    if (images === undefined || shownId.current !== id) return;
    setEdit(edit?.id === id && edit ? edit : { id, before: draftOf(id ?? '') });
    setDraft(id ?? '', question.text);
    setPictures(id ?? '', images);
    field.current?.focus();
  });
  const onAsk = useStable(async (text: string) => {
    const images = await imagesOf({ text, ...lastQuestionOf(lines) });
    if (images === undefined || shownId.current !== id) return;
    send(text, images);
    refocus();
  });
  const onRetry = useStable((turn: Turn) => {
    // A conversation that was never stored can get a new ID.
    if (isNew) shownId.current = undefined;
    askAgain(turn.id, named);
    refocus();
  });
  const onOlder = useStable(() => void query.fetchNextPage());

  return (
    <div className={classes.page}>
      <aside className={classes.side} aria-label={t('chat.list.title')}>
        {list}
      </aside>
      <div className={classes.column}>
        <header className={classes.header}>
          <Title order={1} tabIndex={-1} title={title} ref={heading}>
            {title}
          </Title>
          <ActionIcon
            variant="default"
            size={36}
            className={classes.narrowOnly ?? ''}
            aria-label={t('chat.list.title')}
            onClick={() => setIsListOpen(true)}
          >
            <ListIcon />
          </ActionIcon>
          {data !== undefined && (
            <Tooltip label={t('chat.download.short')}>
              <ActionIcon
                variant="default"
                size={36}
                aria-label={t('chat.download.title')}
                onClick={() => setIsDownloadOpen(true)}
              >
                <DownloadIcon size={18} />
              </ActionIcon>
            </Tooltip>
          )}
          <Button variant="default" leftSection={<PlusIcon size={18} />} onClick={newChat}>
            {t('chat.new')}
          </Button>
        </header>
        {data === undefined && (error || query.isPaused) ? (
          <Missing error={error ?? unreachable(undefined)} onRetry={() => query.refetch()} />
        ) : query.isLoading && !isNew && id !== undefined ? (
          <LoadingLines />
        ) : isEmpty ? (
          <Suggestions onPick={(question) => send(question)} isClosed={isOut} />
        ) : null}
        <Transcript
          content={content}
          conversationId={id ?? ''}
          lines={lines}
          current={current}
          isClosed={isOut}
          hasOlder={query.hasNextPage}
          isLoadingOlder={query.isFetchingNextPage}
          onOlder={onOlder}
          onEdit={onEdit}
          onAsk={onAsk}
          onRetry={onRetry}
        />
        <div className={classes.dock}>
          {isAway && (
            <ActionIcon
              className={classes.toEnd ?? ''}
              variant="default"
              size={40}
              radius="xl"
              aria-label={t('chat.transcript.toEnd')}
              onClick={() => {
                toEnd();
                refocus();
              }}
            >
              <DownIcon />
            </ActionIcon>
          )}
          {isUnread && (
            <Alert color="red" mb="xs">
              {t('chat.pictures.notLoaded')}
            </Alert>
          )}
          {isOut && <OutOfQuota usage={usage} />}
          <Composer
            field={field}
            conversationId={id ?? ''}
            onSend={(message, images) => {
              setEdit(null);
              send(message, images);
            }}
            onCancelEdit={edit && edit.id === id ? () => cancelEdit(edit.before) : undefined}
            onStop={
              current &&
              (() => {
                stop(current.id);
                refocus();
              })
            }
            isClosed={isOut}
            models={models}
          >
            {usage && !isOut && <QuotaLine usage={usage} />}
          </Composer>
        </div>
      </div>
      {isDownloadOpen && id !== undefined && (
        <DownloadDialog id={id} onClose={() => setIsDownloadOpen(false)} />
      )}
      {isListOpen && (
        <Dialog title={t('chat.list.title')} onClose={() => setIsListOpen(false)}>
          {list}
        </Dialog>
      )}
    </div>
  );
}

function Missing({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (toProblem(error).code === 'notFound')
    return (
      <EmptyState title={t('chat.notFound.title')}>
        {t('chat.notFound.text')}
        <Text span display="block" mt="sm">
          <Button variant="default" size="xs" onClick={onRetry}>
            {t('ui.tryAgain')}
          </Button>
        </Text>
      </EmptyState>
    );
  return <ProblemAlert error={error} onRetry={onRetry} mb="lg" />;
}
