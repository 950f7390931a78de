import { ActionIcon, Tooltip } from '@mantine/core';
import { type ClipboardEvent, type DragEvent, useRef, useState } from 'react';
import { t } from '../../texts/language.ts';
import { AttachIcon } from './icons.tsx';
import type { useModels } from './models.ts';
import { acceptedTypes, attach, MOST_PICTURES, type Refusal, setPictures, usePictures } from './pictures.ts';

const sentences: Record<Refusal, (name: string) => string> = {
  wrongType: (name) => t('chat.pictures.wrongType', { name }),
  tooLarge: (name) => t('chat.pictures.tooLarge', { name }),
  tooMany: () => t('chat.pictures.tooMany', { count: MOST_PICTURES }),
};

type Models = Pick<ReturnType<typeof useModels>, 'anyTakesImages' | 'takesImages'>;

/** What the composer does with images: those attached, what is wrong, and handlers for pasted and dropped files. */
export function useAttaching(conversationId: string, { anyTakesImages, takesImages }: Models) {
  const urls = usePictures(conversationId);
  const [refused, setRefused] = useState<string | null>(null);
  /** The conversation in which files were given to a model that does not take images. */
  const [turnedAwayIn, setTurnedAwayIn] = useState<string | null>(null);
  /** How many are being read. Sending now would leave them behind. */
  const [adding, setAdding] = useState(0);
  const add = async (files: readonly File[]) => {
    setAdding((count) => count + 1);
    const refusal = await attach(conversationId, files);
    setAdding((count) => count - 1);
    setRefused(refusal && sentences[refusal.refusal](refusal.name));
  };
  const isUnwanted = urls.length > 0 && !takesImages;
  const errorOf = (): string | null => {
    if (isUnwanted) return t('chat.pictures.modelTakesNone');
    if (turnedAwayIn !== conversationId || takesImages) return refused;
    return t(anyTakesImages ? 'chat.pictures.chooseModel' : 'chat.pictures.notTaken');
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
      // Office programs add a picture of the text that is pasted.
      if (!takesImages && types.includes('text/plain')) return;
      event.preventDefault();
      take([...files]);
    },
    // Otherwise, the browser would leave the page and open the file.
    onDragOver(event: DragEvent): void {
      if (event.dataTransfer.types.includes('Files')) event.preventDefault();
    },
    onDrop(event: DragEvent): void {
      const files = [...event.dataTransfer.files];
      if (files.length === 0) return;
      event.preventDefault();
      take(files);
    },
  };
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
          // So that the same file can be chosen again.
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
