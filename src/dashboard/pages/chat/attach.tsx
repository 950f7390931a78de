import { ActionIcon, Text, Tooltip } from '@mantine/core';
import { type ClipboardEvent, useEffect, useRef, useState } from 'react';
import { t } from '../../texts/language.ts';
import { isDialogOpen } from '../../ui/dialog.tsx';
import classes from './chat.module.css';
import { AttachIcon } from './icons.tsx';
import type { useModels } from './models.ts';
import { acceptedTypes, attach, MAX_IMAGES, type Refusal, setPictures, usePictures } from './pictures.ts';
import { useStable } from './stable.ts';

const sentences: Record<Refusal, (name: string) => string> = {
  wrongType: (name) => t('chat.pictures.wrongType', { name }),
  tooLarge: (name) => t('chat.pictures.tooLarge', { name }),
  tooMany: () => t('chat.pictures.tooMany', { count: MAX_IMAGES }),
};

type Models = Pick<ReturnType<typeof useModels>, 'anyTakesImages' | 'takesImages'>;

export type Attaching = ReturnType<typeof useAttaching>;

/** The composer's state and actions for images: attached images, errors, and pasted or dropped files. */
export function useAttaching(conversationId: string, { anyTakesImages, takesImages }: Models) {
  const urls = usePictures(conversationId);
  const [refused, setRefused] = useState<string | null>(null);
  /** The conversation in which the user tried to attach files, although the model does not accept images. */
  const [turnedAwayIn, setTurnedAwayIn] = useState<string | null>(null);
  /** Number of pending batches of files. Sending now would omit their images. */
  const [adding, setAdding] = useState(0);
  const add = async (files: readonly File[]) => {
    setAdding((count) => count + 1);
    const refusal = await attach(conversationId, files);
    setAdding((count) => count - 1);
    setRefused(refusal && sentences[refusal.refusal](refusal.name));
  };
  const turningAway = t(anyTakesImages ? 'chat.pictures.chooseModel' : 'chat.pictures.notTaken');
  const isUnwanted = urls.length > 0 && !takesImages;
  const errorOf = (): string | null => {
    if (isUnwanted) return t('chat.pictures.modelTakesNone');
    if (turnedAwayIn !== conversationId || takesImages) return refused;
    return turningAway;
  };
  const take = (files: readonly File[]) => {
    setTurnedAwayIn(takesImages ? null : conversationId);
    if (takesImages) void add(files);
  };
  return {
    urls,
    canSend: !isUnwanted && adding === 0,
    error: errorOf(),
    add,
    remove(index: number): void {
      setRefused(null);
      setPictures(
        conversationId,
        urls.filter((_, place) => place !== index),
      );
    },
    clear(): void {
      setRefused(null);
      setTurnedAwayIn(null);
      setPictures(conversationId, []);
    },
    onPaste(event: ClipboardEvent): void {
      const { files, types } = event.clipboardData;
      if (files.length === 0) return;
      // Office programs add an image of pasted text.
      if (!takesImages && types.includes('text/plain')) return;
      event.preventDefault();
      take([...files]);
    },
    take,
    /** The effect of a drop, for the user. */
    dropHint: takesImages ? t('chat.pictures.drop') : turningAway,
  };
}

/** Attaches files dropped anywhere on the page. Shows a hint while the user drags them. */
export function DropArea({ dropHint, take }: Pick<Attaching, 'dropHint' | 'take'>) {
  const [isShown, setIsShown] = useState(false);
  const onFiles = useStable(take);
  useEffect(() => {
    // Browsers report that the next element is entered before they report that the last one is left.
    let entered: EventTarget | null = null;
    const onDrag = (event: DragEvent) => {
      const { dataTransfer, target, type } = event;
      if (!dataTransfer?.types.includes('Files')) return;
      if (type === 'dragenter') entered = target;
      if (type === 'drop' || (type === 'dragleave' && target === entered)) entered = null;
      setIsShown(entered !== null && !isDialogOpen());
      if (type === 'dragleave') return;
      // Otherwise, the browser would leave the page and open the file.
      event.preventDefault();
      if (type === 'drop' && !isDialogOpen()) onFiles([...dataTransfer.files]);
    };
    const types = ['dragenter', 'dragover', 'dragleave', 'drop'] as const;
    for (const type of types) addEventListener(type, onDrag);
    return () => {
      for (const type of types) removeEventListener(type, onDrag);
    };
  }, [onFiles]);
  if (!isShown) return null;
  return (
    <div className={classes.drop}>
      <Text className={classes.dropHint ?? ''}>{dropHint}</Text>
    </div>
  );
}

export function AttachButton({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        accept={acceptedTypes}
        multiple
        hidden
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          // Allows the user to choose the same file again.
          event.currentTarget.value = '';
        }}
      />
      <Tooltip label={t('chat.pictures.attach')}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={36}
          radius="xl"
          aria-label={t('chat.pictures.attach')}
          onClick={() => input.current?.click()}
        >
          <AttachIcon />
        </ActionIcon>
      </Tooltip>
    </>
  );
}
