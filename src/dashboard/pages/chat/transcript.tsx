import { VisuallyHidden } from '@mantine/core';
import { memo, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { plainText } from '../../../domain/plain-text.ts';
import { t } from '../../texts/language.ts';
import { OlderButton } from '../../ui/older-button.tsx';
import classes from './chat.module.css';
import { answerKey, imageCountOf, type Line, type Question, questionKey } from './conversation.ts';
import { AnswerView, QuestionView } from './message.tsx';
import { isUnderWay, type Turn } from './turn.ts';

type Props = {
  content: RefObject<HTMLDivElement | null>;
  conversationId: string;
  lines: readonly Line[];
  current: Turn | undefined;
  isClosed: boolean;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  onOlder: () => void;
  onEdit: (question: Question, text: string) => Promise<boolean>;
  onAsk: (text: string) => void;
  onRetry: (turn: Turn) => void;
};

export const Transcript = memo(function Transcript(props: Props) {
  const { content, conversationId, current, hasOlder, isClosed, isLoadingOlder, lines } = props;
  const { onAsk, onEdit, onOlder, onRetry } = props;
  const announcement = useAnnouncement(lines, current);
  const isBusy = current !== undefined;
  const canAsk = !isBusy && !isClosed;
  const lastQuestion = lines.findLast((line) => line.kind === 'message' && line.message.role === 'user');
  const lastLine = lines.at(-1);
  useAnchor(content, lines[0]?.key);
  useMeasured(content, lines.length);

  return (
    <>
      {hasOlder && (
        <OlderButton list={content} size="xs" mb="lg" isBusy={isLoadingOlder} onClick={onOlder}>
          {t('chat.transcript.earlier')}
        </OlderButton>
      )}
      <div
        ref={content}
        className={classes.log}
        role="log"
        tabIndex={-1}
        aria-label={t('chat.conversation')}
        aria-live="off"
        aria-busy={isBusy}
      >
        {lines.flatMap((line) => {
          const last = canAsk && line === lastLine;
          if (line.kind === 'turn') {
            const { key, messageId, turn } = line;
            const { images, message } = turn.body;
            return [
              <QuestionView
                key={questionKey(key)}
                text={message}
                images={images}
                messageId={messageId}
                conversationId={conversationId}
                isClosed={isClosed}
                onEdit={onEdit}
              />,
              <AnswerView
                key={answerKey(key)}
                text={turn.text}
                model={null}
                turn={turn}
                omitted={turn.omitted}
                again={last ? message : undefined}
                isClosed={isClosed}
                onAsk={onAsk}
                onRetry={onRetry}
              />,
            ];
          }
          const { content: text, finish_reason: finishReason, id, model, role, stopped } = line.message;
          if (role === 'user')
            return (
              <QuestionView
                key={line.key}
                text={text}
                messageId={id}
                images={line.images}
                imageCount={imageCountOf(line)}
                conversationId={conversationId}
                isClosed={isClosed}
                onEdit={onEdit}
              />
            );
          return (
            <AnswerView
              key={line.key}
              text={text}
              model={model}
              turn={undefined}
              isStopped={stopped}
              isCut={finishReason === 'length'}
              omitted={line.omitted}
              again={last && lastQuestion?.kind === 'message' ? lastQuestion.message.content : undefined}
              isClosed={false}
              onAsk={onAsk}
              onRetry={onRetry}
            />
          );
        })}
      </div>
      <VisuallyHidden role="status">{announcement}</VisuallyHidden>
    </>
  );
});

/** Keeps the reader's position when earlier messages load above it. */
function useAnchor(content: RefObject<HTMLDivElement | null>, firstKey: string | undefined): void {
  const lastKey = useRef(firstKey);
  const anchor = useRef<{ element: Element; top: number } | null>(null);
  if (firstKey !== lastKey.current) {
    // The page still shows the previous rendering.
    const element = content.current?.firstElementChild;
    anchor.current = element ? { element, top: element.getBoundingClientRect().top } : null;
    lastKey.current = firstKey;
  }
  useLayoutEffect(() => {
    const { current } = anchor;
    anchor.current = null;
    if (firstKey !== undefined && current?.element.isConnected)
      window.scrollBy(0, current.element.getBoundingClientRect().top - current.top);
  }, [firstKey]);
}

/**
 * Skips the layout of off-screen messages, but only after their height is known: a height that changes during scrolling
 * would move the visible text.
 */
function useMeasured(content: RefObject<HTMLDivElement | null>, count: number): void {
  useEffect(() => {
    let request = 0;
    const inTwoFrames = (then: () => void) => {
      request = requestAnimationFrame(() => {
        request = requestAnimationFrame(then);
      });
    };
    // Wait until the browser has recorded the heights, at the end of a frame.
    inTwoFrames(() => {
      for (const message of content.current?.children ?? []) message.setAttribute('data-measured', '');
    });
    return () => cancelAnimationFrame(request);
  }, [content, count]);
}

/** Announces a reply to screen readers once at its end, not with every word. */
function useAnnouncement(lines: readonly Line[], current: Turn | undefined): string {
  const [status, setStatus] = useState('');
  const before = useRef<string | undefined>(undefined);
  const latest = useRef(lines);
  latest.current = lines;
  const currentId = current && isUnderWay(current) ? current.id : undefined;
  const isThinking = current?.isThinking === true;

  useEffect(() => {
    if (currentId !== undefined)
      setStatus(t(isThinking ? 'chat.transcript.thinking' : 'chat.transcript.waiting'));
    else if (before.current !== undefined) {
      // A turn that failed or was stopped may be above later messages.
      const last =
        latest.current.find((line) => line.kind === 'turn' && line.turn.id === before.current) ??
        latest.current.at(-1);
      const text = last?.kind === 'turn' ? last.turn.text : last?.message.content;
      const isStopped = last?.kind === 'turn' ? last.turn.state === 'stopped' : last?.message.stopped;
      const isFailed = last?.kind === 'turn' && last.turn.state === 'failed';
      const outcome = t(isStopped ? 'chat.transcript.stopped' : 'chat.transcript.ready');
      setStatus(isFailed ? '' : `${outcome} ${plainText(text ?? '')}`);
    }
    before.current = currentId;
  }, [currentId, isThinking]);

  return status;
}
