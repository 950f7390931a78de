import { ActionIcon, Alert, Button, Text } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { toProblem, unreachable } from '../../api/errors.ts';
import { useAccount } from '../../api/queries.ts';
import { useUsage } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { Dialog, isDialogOpen } from '../../ui/dialog.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { LoadingLines } from '../../ui/loaded.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { DropArea, useAttaching } from './attach.tsx';
import classes from './chat.module.css';
import { Composer } from './composer.tsx';
import {
  lastModelOf,
  lastQuestionOf,
  linesOf,
  messagesOf,
  type Question,
  turnsFrom,
  useConversation,
} from './conversation.ts';
import { Conversations } from './conversations.tsx';
import { moveDraft, setDraft } from './drafts.ts';
import { Header } from './header.tsx';
import { DownIcon } from './icons.tsx';
import { isForInputMethod } from './keys.ts';
import { forgetChoice, moveChoice } from './model-choices.ts';
import { useModels } from './models.ts';
import { setNewSettings, settingsOf, useNewSettings } from './new-settings.ts';
import { movePictures, readPictures } from './pictures.ts';
import { OutOfQuota, QuotaLine, remainingOf } from './quota.tsx';
import { useReading } from './scroll.ts';
import { useStable } from './stable.ts';
import { Suggestions } from './suggestions.tsx';
import { Transcript } from './transcript.tsx';
import { isIn, isUnderWay, isUnstored, type Turn } from './turn.ts';
import { adopt, ask, askAgain, forget, leaveFirst, resume, stop, useTurns } from './turns.ts';
import { forgetUnsavedSettings } from './unsaved-settings.ts';
import { UnsavedSettingsAlert } from './unsaved-settings-alert.tsx';

export default function Chat() {
  const { id } = useParams<{ id?: string }>();
  const [, navigate] = useLocation();
  const [isListOpen, setIsListOpen] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const dock = useRef<HTMLDivElement>(null);
  const { isAway, toEnd, toOpened, toQuestion } = useReading(content, dock);
  const { data: usage } = useUsage();

  const allTurns = useTurns();
  const turns = allTurns.filter((turn) => isIn(turn, id));
  const isNew = id !== undefined && isUnstored(allTurns, id);
  const query = useConversation(id, !isNew);
  const { data, error } = query;
  const messages = useMemo(() => messagesOf(data?.pages), [data?.pages]);
  const lines = linesOf(messages, turns);
  const models = useModels(id, lastModelOf(lines));
  const attaching = useAttaching(id ?? '', models);
  const current = turns.find(isUnderWay);
  // The settings of a failed first question apply to the next question.
  const settings = useNewSettings() ?? settingsOf(turns.at(-1)?.body ?? {});
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
  const namedId = useRef<string>(undefined);
  const named = useStable((conversationId: string) => {
    if (shownId.current !== undefined) return;
    namedId.current = conversationId;
    moveDraft(id ?? '', conversationId);
    movePictures(id ?? '', conversationId);
    moveChoice(id ?? '', conversationId);
    navigate(`/chat/${conversationId}`, { replace: true });
  });
  // Wait for the account, so that turns of another account are forgotten first.
  const accountId = useAccount().data?.id;
  useEffect(() => {
    if (accountId !== undefined) resume(named);
  }, [accountId, named]);

  useEffect(() => {
    document.title = `${title} · Parley`;
  }, [title]);

  // On touch devices, focusing the field would open the keyboard.
  const isDesktop = useRef(
    matchMedia('(min-width: 48em)').matches && !matchMedia('(pointer: coarse)').matches,
  );
  /** Moves the focus, because the pressed button may be gone. */
  const refocus = () => (isDesktop.current ? field : heading).current?.focus({ preventScroll: true });
  useEffect(() => {
    if (id === undefined || id !== namedId.current) toOpened();
    namedId.current = undefined;
    if (isDesktop.current) field.current?.focus({ preventScroll: true });
  }, [id, toOpened]);

  const currentId = current?.id;
  useEffect(() => {
    if (currentId === undefined) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !isForAnother(event, field.current)) stop(currentId);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [currentId]);

  /** `replaced` is the ID of the stored message that the new message replaces. */
  const send = (message: string, images: readonly string[] = [], replaced?: string) => {
    // A conversation that failed before it was stored cannot continue, so start a new one.
    const isLost = isNew && turns.every(({ state }) => state === 'failed');
    const continued = isLost ? undefined : id;
    if (isLost) navigate('/chat', { replace: true });
    if (continued === undefined) shownId.current = undefined;
    // Failed questions remain visible, because some remain charged.
    if (continued === undefined) adopt((turn) => turns.includes(turn));
    const body = {
      message,
      ...(images.length > 0 && { images: [...images] }),
      ...(continued === undefined ? settings : { conversation_id: continued }),
      ...(continued !== undefined && replaced !== undefined && { replaces: replaced }),
      ...(models.chosen !== undefined && { model: models.chosen }),
    };
    const last = replaced === undefined ? messages.length : messages.findIndex(({ id }) => id === replaced);
    if (replaced !== undefined) {
      const later = turnsFrom(messages, turns, replaced);
      forget((turn) => later.has(turn));
    }
    ask({ conversationId: continued ?? null, body, afterId: messages[last - 1]?.id ?? null }, named);
    forgetChoice(continued ?? '');
    if (continued === undefined) setNewSettings(null);
    requestAnimationFrame(toQuestion);
  };

  const newChat = () => {
    leaveFirst();
    setIsListOpen(false);
    navigate('/chat');
    field.current?.focus();
  };

  const isOut = usage !== undefined && remainingOf(usage) === 0;
  const closeList = useCallback(() => setIsListOpen(false), []);
  const onDeleted = useStable((deleted: string) => {
    setDraft(deleted, '');
    forgetChoice(deleted);
    forgetUnsavedSettings(deleted);
    if (deleted === id) navigate('/chat', { replace: true });
  });
  const list = <Conversations currentId={id} onOpen={closeList} onDeleted={onDeleted} />;
  const [isUnread, setIsUnread] = useState(false);
  /** Returns undefined and shows an error if the images cannot load. */
  const imagesOf = async (question: Omit<Question, 'text'>): Promise<readonly string[] | undefined> => {
    const { imageCount = 0, images = [], messageId } = question;
    setIsUnread(false);
    if (messageId === undefined || imageCount === 0 || id === undefined) return images;
    try {
      return await readPictures(id, messageId);
    } catch {
      setIsUnread(true);
      return undefined;
    }
  };
  /** Resolves to whether the edited question was sent. */
  const onEdit = useStable(async (question: Question, text: string) => {
    if (current !== undefined || isOut) return false;
    const images = await imagesOf(question);
    if (images === undefined || shownId.current !== id) return false;
    send(text, images, question.messageId);
    refocus();
    return true;
  });
  const onAsk = useStable(async (text: string) => {
    const question = lastQuestionOf(lines);
    const images = await imagesOf(question);
    if (images === undefined || shownId.current !== id) return;
    send(text, images, question.messageId);
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
        <Header
          heading={heading}
          title={title}
          id={id}
          isStored={data !== undefined}
          newSettings={id === undefined && current === undefined ? settings : undefined}
          onOpenList={() => setIsListOpen(true)}
          onNew={newChat}
        />
        {data === undefined && (error || query.isPaused) ? (
          <Missing error={error ?? unreachable(undefined)} onRetry={() => query.refetch()} />
        ) : query.isLoading && !isNew && lines.length === 0 ? (
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
        <div ref={dock} className={classes.dock}>
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
          {id !== undefined && <UnsavedSettingsAlert key={id} conversationId={id} />}
          {isUnread && (
            <Alert color="red" mb="xs">
              {t('chat.pictures.notLoaded')}
            </Alert>
          )}
          {isOut && <OutOfQuota usage={usage} />}
          <Composer
            field={field}
            conversationId={id ?? ''}
            onSend={(message, images) => send(message, images)}
            onStop={
              current &&
              (() => {
                stop(current.id);
                refocus();
              })
            }
            // The conversation's model is unknown until it has loaded.
            isClosed={isOut || query.isLoading}
            models={models}
            attaching={attaching}
          >
            {usage && !isOut && <QuotaLine usage={usage} />}
          </Composer>
        </div>
        <DropArea dropHint={attaching.dropHint} take={attaching.take} />
      </div>
      {isListOpen && (
        <Dialog title={t('chat.list.title')} onClose={() => setIsListOpen(false)}>
          {list}
        </Dialog>
      )}
    </div>
  );
}

/** Whether a key press is for a dialog, an input method, or a field other than the message. */
const isForAnother = (event: KeyboardEvent, message: HTMLElement | null): boolean =>
  event.defaultPrevented ||
  isForInputMethod(event) ||
  isDialogOpen() ||
  (event.target instanceof Element &&
    event.target !== message &&
    event.target.matches('input, select, textarea'));

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
