import { Alert, Button, Group, Loader, Text, VisuallyHidden } from '@mantine/core';
import { memo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { t } from '../../texts/language.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { InfoIcon } from '../../ui/icons.tsx';
import classes from './chat.module.css';
import type { Question } from './conversation.ts';
import { EditQuestion } from './edit-question.tsx';
import { Failed } from './failure.tsx';
import { AgainIcon, EditIcon } from './icons.tsx';
import { Answer } from './markdown.tsx';
import { PictureList, StoredPictures } from './picture-list.tsx';
import { isUnderWay, keepsOriginal, type Turn } from './turn.ts';

type QuestionProps = Question & {
  conversationId: string;
  isClosed: boolean;
  /** Resolves to whether the question was sent. */
  onEdit: (question: Question, text: string) => Promise<boolean>;
};

export const QuestionView = memo(function QuestionView(props: QuestionProps) {
  const { conversationId, imageCount = 0, images = [], isClosed, messageId, onEdit, text } = props;
  const [isEdited, setIsEdited] = useState(false);
  const editButton = useRef<HTMLButtonElement>(null);
  const stopEditing = () => {
    flushSync(() => setIsEdited(false));
    editButton.current?.focus();
  };
  return (
    <article className={classes.question}>
      <VisuallyHidden>{t('chat.message.youSaid')}</VisuallyHidden>
      {images.length > 0 && <PictureList urls={images} />}
      {messageId !== undefined && imageCount > 0 && (
        <StoredPictures conversationId={conversationId} messageId={messageId} count={imageCount} />
      )}
      {isEdited ? (
        <EditQuestion
          text={text}
          isReplacing={messageId !== undefined}
          onSend={async (edited) => {
            if (await onEdit({ text, images, messageId, imageCount }, edited)) setIsEdited(false);
          }}
          onCancel={stopEditing}
        />
      ) : (
        <>
          <p className={classes.bubble}>{text}</p>
          <Group gap={4} justify="flex-end" className={classes.deeds}>
            <CopyButton
              text={text}
              what={t('chat.message.copyQuestion')}
              size="compact-xs"
              variant="subtle"
              color="gray"
            />
            {!isClosed && (
              <Button
                ref={editButton}
                className={classes.whenIdle ?? ''}
                size="compact-xs"
                variant="subtle"
                color="gray"
                leftSection={<EditIcon size={16} />}
                aria-label={t('chat.message.editMessage')}
                onClick={() => setIsEdited(true)}
              >
                {t('chat.message.edit')}
              </Button>
            )}
          </Group>
        </>
      )}
    </article>
  );
});

type AnswerProps = {
  text: string;
  model: string | null;
  /** The turn in this tab. Undefined for a stored reply. */
  turn: Turn | undefined;
  /** Whether a stored reply was stopped. */
  isStopped?: boolean | undefined;
  /** Whether a stored reply reached the maximum length. */
  isCut?: boolean;
  /** How many messages the model did not receive. */
  omitted?: number | undefined;
  /** The question. Undefined if it cannot be sent again. */
  again: string | undefined;
  isClosed: boolean;
  onAsk: (text: string) => void;
  onRetry: (turn: Turn) => void;
};

/** One component for turns and stored replies, so that a stored reply replaces its turn without rendering again. */
export const AnswerView = memo(function AnswerView(props: AnswerProps) {
  const { again, isClosed, isStopped = false, model, omitted = 0, onAsk, onRetry, text, turn } = props;
  const isOpen = turn !== undefined && isUnderWay(turn);
  const { isCut, problem, state } = turn ?? { isCut: props.isCut, problem: null, state: 'done' };
  const onAgain = again === undefined ? undefined : () => onAsk(again);
  return (
    <article>
      <VisuallyHidden>{t('chat.message.theAnswer')}</VisuallyHidden>
      {text !== '' && <Answer text={text} isUnderWay={isOpen} />}
      {isOpen && (
        <Group gap="xs" mt={text === '' ? 0 : 8} c="dimmed">
          <Loader type="dots" size="sm" color="gray" aria-hidden />
          {text === '' && <Text size="sm">{t(stageOf(turn))}</Text>}
        </Group>
      )}
      {isCut && (
        <Text size="sm" c="dimmed" mt="xs">
          {t('chat.message.cut')}
        </Text>
      )}
      {(isStopped || turn?.isEnded) && (
        <Text size="sm" c="dimmed" mt="xs">
          {turn && keepsOriginal(turn)
            ? t('chat.message.stoppedKept')
            : `${whereStopped(text)} ${t('chat.message.counts')}`}
        </Text>
      )}
      {omitted > 0 && (
        <Text size="sm" c="dimmed" mt="xs">
          {t('chat.message.omitted', { count: omitted })}
        </Text>
      )}
      {turn && state === 'stopped' && !turn.isEnded && (
        <Left text={text} onRetry={() => onRetry(turn)} onAgain={onAgain} />
      )}
      {turn && state === 'failed' && (
        <Failed
          problem={problem}
          isAnswered={text !== ''}
          isClosed={isClosed}
          onRetry={() => onRetry(turn)}
        />
      )}
      {!isOpen && (state !== 'failed' || text !== '') && (
        <Group gap={4} mt={6} className={classes.deeds}>
          {text !== '' && (
            <CopyButton
              text={text}
              what={t('chat.message.copyAnswer')}
              size="compact-xs"
              variant="subtle"
              color="gray"
            />
          )}
          {onAgain && (state === 'done' || turn?.isEnded) && (
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              leftSection={<AgainIcon size={16} />}
              onClick={onAgain}
            >
              {t('chat.message.regenerate')}
            </Button>
          )}
          {model !== null && (
            <Text span size="xs" c="dimmed" className={classes.model ?? ''}>
              {model}
            </Text>
          )}
        </Group>
      )}
    </article>
  );
});

/** The stage before the first word. */
function stageOf({ isResumed, isThinking }: Turn) {
  if (isThinking) return 'chat.message.thinking';
  return isResumed ? 'chat.message.inProgress' : 'chat.message.waiting';
}

const whereStopped = (text: string) =>
  text === '' ? t('chat.message.stoppedBefore') : t('chat.message.stoppedHere');

type LeftProps = { text: string; onRetry: () => void; onAgain: (() => void) | undefined };

/** A reply that continues on the service, because the tab failed to stop it. */
function Left({ onAgain, onRetry, text }: LeftProps) {
  return (
    <Alert variant="light" color="gray" icon={<InfoIcon />} mt="sm">
      <Text size="sm">
        {whereStopped(text)} {t('chat.message.stored')}
      </Text>
      <Group gap="xs" mt="sm">
        <Button size="xs" variant="default" onClick={onRetry}>
          {t('chat.message.showWhole')}
        </Button>
        {onAgain && (
          <Button size="xs" variant="default" onClick={onAgain}>
            {t('chat.message.regenerate')}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
