import { VisuallyHidden } from '@mantine/core';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { BusyButton } from '../../ui/busy-button.tsx';
import classes from './chat.module.css';
import type { Line } from './conversation.ts';
import { AnswerView, QuestionView, TurnAnswer } from './message.tsx';
import { isUnderWay, type Turn } from './turns.ts';

type Props = {
  content: RefObject<HTMLDivElement | null>;
  lines: readonly Line[];
  current: Turn | undefined;
  isClosed: boolean;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  onOlder: () => void;
  onEdit: (text: string) => void;
  onAsk: (text: string) => void;
  onRetry: (turn: Turn) => void;
};

export function Transcript(props: Props) {
  const { content, current, hasOlder, isClosed, isLoadingOlder, lines } = props;
  const { onAsk, onEdit, onOlder, onRetry } = props;
  const announcement = useAnnouncement(lines, current);
  const isBusy = current !== undefined;
  const canAsk = !isBusy && !isClosed;
  const lastQuestion = lines.findLast((line) => line.kind === 'message' && line.message.role === 'user');
  const again = lastQuestion?.kind === 'message' ? lastQuestion.message.content : undefined;

  return (
    <>
      {hasOlder && (
        <BusyButton size="xs" mb="lg" isBusy={isLoadingOlder} onClick={onOlder}>
          Show earlier messages
        </BusyButton>
      )}
      <div
        ref={content}
        className={classes.log}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        aria-busy={isBusy}
      >
        {numbered(lines).map(([key, line], index) => {
          if (line.kind === 'turn') {
            const { turn } = line;
            return (
              <div key={key} className={classes.log}>
                <QuestionView
                  text={turn.body.message}
                  isBusy={isBusy}
                  onEdit={() => onEdit(turn.body.message)}
                />
                <TurnAnswer
                  turn={turn}
                  isClosed={isClosed}
                  onRetry={() => onRetry(turn)}
                  {...(canAsk && index === lines.length - 1 && { onAgain: () => onAsk(turn.body.message) })}
                />
              </div>
            );
          }
          const { content: text, model, role } = line.message;
          if (role === 'user')
            return <QuestionView key={key} text={text} isBusy={isBusy} onEdit={() => onEdit(text)} />;
          const isLast = index === lines.length - 1;
          return (
            <AnswerView
              key={key}
              text={text}
              model={model}
              isBusy={isBusy}
              {...(isLast && canAsk && again !== undefined && { onAgain: () => onAsk(again) })}
            />
          );
        })}
      </div>
      <VisuallyHidden role="status">{announcement}</VisuallyHidden>
    </>
  );
}

/** These keys do not change when stored messages replace a turn of this tab. */
const numbered = (lines: readonly Line[]): [string, Line][] =>
  lines.map((line, index) => [`${index} ${line.kind}`, line]);

/** Announces a reply to screen readers once at the end, not with every word. */
function useAnnouncement(lines: readonly Line[], current: Turn | undefined): string {
  const [said, setSaid] = useState('');
  const before = useRef<string | undefined>(undefined);
  const latest = useRef(lines);
  latest.current = lines;
  const currentId = current && isUnderWay(current) ? current.id : undefined;

  useEffect(() => {
    if (currentId !== undefined) setSaid('Waiting for the answer.');
    else if (before.current !== undefined) {
      const last = latest.current.at(-1);
      const text = last?.kind === 'turn' ? last.turn.text : last?.message.content;
      const isStopped = last?.kind === 'turn' && last.turn.state === 'stopped';
      const isFailed = last?.kind === 'turn' && last.turn.state === 'failed';
      setSaid(isFailed ? '' : `${isStopped ? 'The answer was stopped' : 'Answer ready'}: ${text ?? ''}`);
    }
    before.current = currentId;
  }, [currentId]);

  return said;
}
