import { ActionIcon, Button, Group, NativeSelect, Text, Textarea, VisuallyHidden } from '@mantine/core';
import { type FormEvent, type KeyboardEvent, type ReactNode, type RefObject, useId } from 'react';
import classes from './chat.module.css';
import { SendIcon, StopIcon } from './icons.tsx';
import type { useModels } from './models.ts';

const LONGEST = 100_000;

type Props = {
  field: RefObject<HTMLTextAreaElement | null>;
  draft: string;
  onDraft: (text: string) => void;
  onSend: () => void;
  onStop: (() => void) | undefined;
  onCancelEdit: (() => void) | undefined;
  isClosed: boolean;
  models: ReturnType<typeof useModels>;
  children: ReactNode;
};

export function Composer(props: Props) {
  const { children, draft, field, isClosed, models, onCancelEdit, onDraft, onSend, onStop } = props;
  const hint = useId();
  const isTooLong = draft.length > LONGEST;
  const canSend = !isClosed && !isTooLong && draft.trim() !== '' && onStop === undefined;
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (canSend) onSend();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && onStop === undefined) onCancelEdit?.();
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className={classes.composer} onSubmit={send}>
      <Group gap="xs" role="status">
        {onCancelEdit && (
          <>
            <Text size="xs" c="dimmed">
              Your edited message is sent as a new message.
            </Text>
            <Button size="compact-sm" variant="default" title="Cancel (Esc)" onClick={onCancelEdit}>
              Cancel
            </Button>
          </>
        )}
      </Group>
      <Textarea
        ref={field}
        value={draft}
        onChange={(event) => onDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        aria-label="Your message"
        aria-describedby={hint}
        placeholder="Ask a question"
        variant="unstyled"
        size="md"
        autosize
        minRows={1}
        maxRows={8}
        error={isTooLong && `A message can have at most ${LONGEST.toLocaleString('en')} characters.`}
      />
      <div className={classes.below}>
        <div className={classes.facts}>
          {models.ids.length > 1 ? (
            <NativeSelect
              aria-label="Model"
              size="xs"
              data={models.ids}
              value={models.chosen ?? ''}
              onChange={(event) => models.choose(event.currentTarget.value)}
              className={classes.models ?? ''}
            />
          ) : (
            models.chosen !== undefined && (
              <Text size="xs" c="dimmed" className={classes.model ?? ''}>
                {models.chosen}
              </Text>
            )
          )}
          {children}
        </div>
        <VisuallyHidden id={hint}>
          Press Enter to send, Shift+Enter for a new line, and Escape to stop the answer.
        </VisuallyHidden>
        {onStop === undefined ? (
          <ActionIcon type="submit" size={40} radius="xl" aria-label="Send" disabled={!canSend}>
            <SendIcon />
          </ActionIcon>
        ) : (
          <ActionIcon
            size={40}
            radius="xl"
            variant="filled"
            aria-label="Stop"
            title="Stop (Esc)"
            onClick={onStop}
          >
            <StopIcon />
          </ActionIcon>
        )}
      </div>
    </form>
  );
}
