import { Alert, Button, Group, Loader, Text, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyButton } from '../../ui/copy-button.tsx';
import { InfoIcon } from '../../ui/icons.tsx';
import classes from './chat.module.css';
import { Failed } from './failure.tsx';
import { AgainIcon, EditIcon } from './icons.tsx';
import { Answer } from './markdown.tsx';
import { isUnderWay, type Turn } from './turns.ts';

type QuestionProps = { text: string; onEdit: () => void; isBusy: boolean };

export function QuestionView({ isBusy, onEdit, text }: QuestionProps) {
  return (
    <article className={classes.question}>
      <VisuallyHidden>You said:</VisuallyHidden>
      <p className={classes.bubble}>{text}</p>
      {!isBusy && (
        <Group gap={4} justify="flex-end" className={classes.deeds}>
          <CopyButton text={text} what="question" size="compact-xs" variant="subtle" color="gray" />
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            leftSection={<EditIcon size={16} />}
            onClick={onEdit}
          >
            Edit message
          </Button>
        </Group>
      )}
    </article>
  );
}

type AnswerProps = { text: string; model: string | null; isBusy: boolean; onAgain?: () => void };

export function AnswerView({ isBusy, model, onAgain, text }: AnswerProps) {
  return (
    <article>
      <VisuallyHidden>The answer:</VisuallyHidden>
      <Answer text={text} />
      {!isBusy && (
        <Deeds text={text}>
          {onAgain && (
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              leftSection={<AgainIcon size={16} />}
              onClick={onAgain}
            >
              Regenerate
            </Button>
          )}
          {model !== null && (
            <Text span size="xs" c="dimmed" className={classes.model ?? ''}>
              {model}
            </Text>
          )}
        </Deeds>
      )}
    </article>
  );
}

const Deeds = ({ children, text }: { children?: ReactNode; text: string }) => (
  <Group gap={4} mt={6} className={classes.deeds}>
    {text !== '' && <CopyButton text={text} what="answer" size="compact-xs" variant="subtle" color="gray" />}
    {children}
  </Group>
);

type TurnProps = { turn: Turn; isClosed: boolean; onRetry: () => void; onAgain?: () => void };

export function TurnAnswer({ isClosed, onAgain, onRetry, turn }: TurnProps) {
  const { isCut, problem, state, text } = turn;
  return (
    <article>
      <VisuallyHidden>The answer:</VisuallyHidden>
      {text !== '' && <Answer text={text} isUnderWay={isUnderWay(turn)} />}
      {isUnderWay(turn) && (
        <Group gap="xs" mt={text === '' ? 0 : 8} c="dimmed">
          <Loader type="dots" size="sm" color="gray" aria-hidden />
          {text === '' && <Text size="sm">Waiting for the answer…</Text>}
        </Group>
      )}
      {isCut && (
        <Text size="sm" c="dimmed" mt="xs">
          The answer reached the maximum length and ends here.
        </Text>
      )}
      {state === 'stopped' && <Stopped hasText={text !== ''} onRetry={onRetry} onAgain={onAgain} />}
      {problem && <Failed problem={problem} isClosed={isClosed} onRetry={onRetry} />}
      {(state === 'stopped' || state === 'done') && <Deeds text={text} />}
    </article>
  );
}

type StoppedProps = { hasText: boolean; onRetry: () => void; onAgain: (() => void) | undefined };

function Stopped({ hasText, onAgain, onRetry }: StoppedProps) {
  return (
    <Alert variant="light" color="gray" icon={<InfoIcon />} mt="sm">
      <Text size="sm">
        {hasText ? 'You stopped the answer here.' : 'You stopped before the answer started.'} The full answer
        is stored in the conversation and counts as one reply.
      </Text>
      <Group gap="xs" mt="sm">
        <Button size="xs" variant="default" onClick={onRetry}>
          Show the full answer
        </Button>
        {onAgain && (
          <Button size="xs" variant="default" onClick={onAgain}>
            Regenerate
          </Button>
        )}
      </Group>
    </Alert>
  );
}
