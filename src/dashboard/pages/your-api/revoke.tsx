import { Text } from '@mantine/core';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { When } from '../../ui/when.tsx';
import { type ApiKey, useRevokeKey } from './keys.ts';

type Props = { apiKey: ApiKey; onClose: () => void; onRevoked: () => void };

export function RevokeDialog({ apiKey, onClose, onRevoked }: Props) {
  const { last_used_at: lastUsedAt } = apiKey;
  const revoke = useRevokeKey(apiKey.id, onRevoked);
  return (
    <Confirm
      title={t('keys.revoke.question', { name: apiKey.name })}
      action={t('keys.revoke.action')}
      isDangerous
      isPending={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={() => revoke.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>{t('keys.revoke.about')}</Text>
      <Text size="sm" c="dimmed">
        {lastUsedAt === null
          ? t('keys.revoke.neverUsed')
          : t.rich('keys.revoke.lastUsed', { when: () => <When at={lastUsedAt} /> })}
      </Text>
    </Confirm>
  );
}
