import { ActionIcon } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { t } from '../../texts/language.ts';
import { ProblemAlert } from '../../ui/problem.tsx';
import classes from './chat.module.css';
import { RemoveIcon } from './icons.tsx';
import { storedPictures } from './pictures.ts';

type Props = {
  /** Undefined while they load. */
  urls: readonly (string | undefined)[];
  onRemove?: (index: number) => void;
};

/** The images of a message as thumbnails, which can be removed before it is sent. */
export function PictureList({ onRemove, urls }: Props) {
  return (
    <ul className={classes.pictures} aria-label={t('chat.pictures.list')}>
      {urls.map((url, index) => {
        const place = { number: index + 1, count: urls.length };
        return (
          <li key={index} className={classes.picture}>
            {url !== undefined && <img src={url} alt={t('chat.pictures.alt', place)} />}
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
    </ul>
  );
}

type StoredProps = { conversationId: string; messageId: string; count: number };

/** The images of a stored message. Their places are there before they are loaded. */
export function StoredPictures({ conversationId, count, messageId }: StoredProps) {
  const { data, error, refetch } = useQuery(storedPictures(conversationId, messageId));
  if (data === undefined && error) return <ProblemAlert error={error} onRetry={() => refetch()} />;
  return <PictureList urls={data ?? Array.from({ length: count }, () => undefined)} />;
}
