/** The secret that a rotation replaced, while it still works. */

import { Button, Text } from '@mantine/core';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { exactTime } from '../../ui/when.tsx';
import { type ApiKey, previousSecretEnd, useEndPreviousSecret } from './keys.ts';
import classes from './your-api.module.css';

type Props = { apiKey: ApiKey; onEnd: () => void };

export function PreviousSecret({ apiKey, onEnd }: Props) {
  const end = previousSecretEnd(apiKey);
  if (end === null) return null;
  return (
    <div className={classes.previous}>
      <Text size="sm" c="var(--parley-warning)">
        {t.rich('keys.oldSecret.until', {
          time: exactTime(end),
          at: (chunks) => <time dateTime={end}>{chunks}</time>,
        })}
      </Text>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={t('keys.oldSecret.endOf', { name: apiKey.name })}
        onClick={onEnd}
      >
        {t('keys.oldSecret.end')}
      </Button>
    </div>
  );
}

export function EndPreviousSecretDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const end = useEndPreviousSecret(apiKey.id);
  return (
    <Confirm
      title={t('keys.oldSecret.question', { name: apiKey.name })}
      action={t('keys.oldSecret.action')}
      isDangerous
      isPending={end.isPending}
      error={end.error}
      onClose={onClose}
      onConfirm={() => end.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>{t('keys.oldSecret.about')}</Text>
    </Confirm>
  );
}
