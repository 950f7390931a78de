import { Button, Group, Text, Textarea } from '@mantine/core';
import { type KeyboardEvent, type SyntheticEvent, useId, useState } from 'react';
import { t } from '../../texts/language.ts';
import classes from './chat.module.css';
import { MAX_MESSAGE_LENGTH, stateOf } from './drafts.ts';
import { isForInputMethod, useEnter } from './keys.ts';

type Props = {
  text: string;
  /** Whether the edited question replaces a stored message. */
  isReplacing: boolean;
  onSend: (text: string) => void;
  onCancel: () => void;
};

/** Edits a question in place, to send it with another text. Its images remain. */
export function EditQuestion({ isReplacing, onCancel, onSend, text }: Props) {
  const [draft, setDraft] = useState(text);
  const hint = useId();
  const { enterKeyHint, isSending } = useEnter();
  const state = stateOf(draft);
  const send = (event: SyntheticEvent) => {
    event.preventDefault();
    if (state === 'ready') onSend(draft.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && !isForInputMethod(event.nativeEvent)) onCancel();
    if (isSending(event)) send(event);
  };
  return (
    <form className={classes.edit} onSubmit={send}>
      <Textarea
        autoFocus
        autosize
        minRows={2}
        maxRows={12}
        value={draft}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onFocus={({ currentTarget }) => currentTarget.setSelectionRange(text.length, text.length)}
        onKeyDown={onKeyDown}
        aria-label={t('chat.message.edited')}
        aria-describedby={hint}
        enterKeyHint={enterKeyHint}
        error={state === 'tooLong' && t('chat.composer.tooLong', { length: MAX_MESSAGE_LENGTH })}
      />
      <Group gap="xs" mt="xs" justify="space-between" className={classes.deeds}>
        <Text id={hint} size="xs" c="dimmed">
          {t(isReplacing ? 'chat.message.replaces' : 'chat.message.isNew')}
        </Text>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={onCancel}>
            {t('ui.cancel')}
          </Button>
          <Button size="xs" type="submit" className={classes.whenIdle ?? ''} disabled={state !== 'ready'}>
            {t('chat.composer.send')}
          </Button>
        </Group>
      </Group>
    </form>
  );
}
