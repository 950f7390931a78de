import { ActionIcon, Input, NativeSelect, Text, Textarea, VisuallyHidden } from '@mantine/core';
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  type SyntheticEvent,
  useId,
} from 'react';
import { t } from '../../texts/language.ts';
import { AttachButton, type Attaching } from './attach.tsx';
import classes from './chat.module.css';
import { draftOf, MAX_MESSAGE_LENGTH, setDraft, useDraft, useDraftState } from './drafts.ts';
import { SendIcon, StopIcon } from './icons.tsx';
import { useEnter } from './keys.ts';
import type { useModels } from './models.ts';
import { PictureList } from './picture-list.tsx';

/** Whether CSS can resize the field. Measuring the height in a script would lay out the page with every key press. */
const growsByItself = CSS.supports('field-sizing', 'content');

type Props = {
  field: RefObject<HTMLTextAreaElement | null>;
  /** The conversation of the draft. '' for a new conversation. */
  conversationId: string;
  onSend: (message: string, images: readonly string[]) => void;
  onStop: (() => void) | undefined;
  isClosed: boolean;
  models: ReturnType<typeof useModels>;
  attaching: Attaching;
  children: ReactNode;
};

export function Composer(props: Props) {
  const { attaching, children, conversationId, field, isClosed, models, onSend, onStop } = props;
  const hint = useId();
  const { enterKeyHint, isSending } = useEnter();
  const state = useDraftState(conversationId);
  const canSend = !isClosed && attaching.canSend && state === 'ready' && onStop === undefined;
  const send = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!canSend) return;
    onSend(draftOf(conversationId).trim(), attaching.urls);
    setDraft(conversationId, '');
    attaching.clear();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isSending(event)) send(event);
  };
  return (
    <form className={classes.composer} onSubmit={send}>
      {attaching.urls.length > 0 && (
        <PictureList
          urls={attaching.urls}
          onRemove={(index) => {
            attaching.remove(index);
            field.current?.focus();
          }}
        />
      )}
      {attaching.error !== null && (
        <Input.Error role="alert" mt={4}>
          {attaching.error}
        </Input.Error>
      )}
      <Field
        field={field}
        conversationId={conversationId}
        hint={hint}
        enterKeyHint={enterKeyHint}
        placeholder={t('chat.composer.placeholder', { name: models.addressee })}
        isTooLong={state === 'tooLong'}
        onKeyDown={onKeyDown}
        onPaste={attaching.onPaste}
      />
      <div className={classes.below}>
        <div className={classes.facts}>
          {models.takesImages && <AttachButton onFiles={(files) => void attaching.add(files)} />}
          {models.choices.length > 1 ? (
            <NativeSelect
              aria-label={t('chat.composer.model')}
              size="xs"
              data={models.choices}
              value={models.chosen ?? ''}
              onChange={(event) => models.choose(event.currentTarget.value)}
              className={classes.models ?? ''}
            />
          ) : (
            models.chosen !== undefined && (
              <Text size="xs" c="dimmed" className={classes.model ?? ''}>
                {models.choices[0]?.label}
              </Text>
            )
          )}
          {children}
        </div>
        <VisuallyHidden id={hint}>
          {t(enterKeyHint === 'send' ? 'chat.composer.hint' : 'chat.composer.hintOnTouch')}
        </VisuallyHidden>
        {onStop === undefined ? (
          <ActionIcon
            type="submit"
            size={40}
            radius="xl"
            aria-label={t('chat.composer.send')}
            disabled={!canSend}
          >
            <SendIcon />
          </ActionIcon>
        ) : (
          <ActionIcon
            size={40}
            radius="xl"
            variant="filled"
            aria-label={t('chat.composer.stop')}
            title={t('chat.composer.stopByKey')}
            onClick={onStop}
          >
            <StopIcon />
          </ActionIcon>
        )}
      </div>
      {models.details !== '' && (
        <Text size="xs" c="dimmed" lineClamp={2} mt={4} title={models.details}>
          {models.details}
        </Text>
      )}
    </form>
  );
}

type FieldProps = {
  field: RefObject<HTMLTextAreaElement | null>;
  conversationId: string;
  /** The ID of the element that describes the field. */
  hint: string;
  enterKeyHint: 'enter' | 'send';
  placeholder: string;
  isTooLong: boolean;
  onKeyDown: (event: KeyboardEvent) => void;
  onPaste: (event: ClipboardEvent) => void;
};

/** The only component that renders with every key press. */
function Field(props: FieldProps) {
  const { conversationId, enterKeyHint, field, hint, isTooLong, onKeyDown, onPaste, placeholder } = props;
  const draft = useDraft(conversationId);
  return (
    <Textarea
      ref={field}
      value={draft}
      onChange={(event) => setDraft(conversationId, event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onPaste={onPaste}
      aria-label={t('chat.composer.message')}
      aria-describedby={hint}
      enterKeyHint={enterKeyHint}
      placeholder={placeholder}
      variant="unstyled"
      size="md"
      {...(growsByItself
        ? { className: classes.field ?? '', rows: 1 }
        : { autosize: true, minRows: 1, maxRows: 8 })}
      error={isTooLong && t('chat.composer.tooLong', { length: MAX_MESSAGE_LENGTH })}
    />
  );
}
