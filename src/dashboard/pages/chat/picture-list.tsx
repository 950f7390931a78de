import { ActionIcon, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../../texts/language.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import classes from './chat.module.css';
import { RemoveIcon } from './icons.tsx';
import { storedPictures } from './pictures.ts';

type Props = {
  /** The URLs of the images. An item is undefined while it loads. */
  urls: readonly (string | undefined)[];
  onRemove?: (index: number) => void;
};

/** Shows the images of a message as thumbnails, which open large. Before sending, the user can remove them. */
export function PictureList({ onRemove, urls }: Props) {
  const [opened, setOpened] = useState<number | null>(null);
  const placeOf = (index: number) => ({ number: index + 1, count: urls.length });
  return (
    <ul className={classes.pictures} aria-label={t('chat.pictures.list')}>
      {urls.map((url, index) => {
        const place = placeOf(index);
        return (
          <li key={index} className={classes.picture}>
            {url !== undefined && (
              <UnstyledButton
                className={classes.thumbnail ?? ''}
                aria-label={t('chat.pictures.open', place)}
                onClick={() => setOpened(index)}
              >
                {/* Dragging would drop the image on the page. */}
                <img src={url} alt={t('chat.pictures.alt', place)} draggable={false} />
              </UnstyledButton>
            )}
            {onRemove && (
              <ActionIcon
                className={classes.remove ?? ''}
                variant="default"
                size={28}
                radius="xl"
                aria-label={t('chat.pictures.remove', place)}
                onClick={() => onRemove(index)}
              >
                <RemoveIcon size={16} />
              </ActionIcon>
            )}
          </li>
        );
      })}
      {opened !== null && (
        <Dialog title={t('chat.pictures.alt', placeOf(opened))} size="auto" onClose={() => setOpened(null)}>
          <img className={classes.large} src={urls[opened]} alt={t('chat.pictures.alt', placeOf(opened))} />
        </Dialog>
      )}
    </ul>
  );
}

type StoredProps = { conversationId: string; messageId: string; count: number };

/** The images of a stored message. Placeholders reserve their space until they load. */
export function StoredPictures({ conversationId, count, messageId }: StoredProps) {
  const { data, error, refetch } = useQuery(storedPictures(conversationId, messageId));
  if (data === undefined && error) return <ProblemAlert error={error} onRetry={() => refetch()} />;
  return <PictureList urls={data ?? Array.from({ length: count }, () => undefined)} />;
}
