import { Text } from '@mantine/core';
import { Confirm } from '../../ui/confirm.tsx';
import { When } from '../../ui/when.tsx';
import { type ApiKey, useRevokeKey } from './keys.ts';

type Props = { apiKey: ApiKey; onClose: () => void; onRevoked: () => void };

export function RevokeDialog({ apiKey, onClose, onRevoked }: Props) {
  const revoke = useRevokeKey(apiKey.id, onRevoked);
  return (
    <Confirm
      title={`Revoke “${apiKey.name}”?`}
      action="Revoke key"
      isDangerous
      isPending={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={() => revoke.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>
        The key stops working immediately and permanently. So does an old secret that still works after a
        rotation. Requests from apps that use the key will fail. This cannot be undone.
      </Text>
      <Text size="sm" c="dimmed">
        {apiKey.last_used_at === null ? (
          'It has never been used.'
        ) : (
          <>
            It was last used <When at={apiKey.last_used_at} />.
          </>
        )}
      </Text>
    </Confirm>
  );
}
