/** The end of a key. */
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
      action="Revoke the key"
      isDangerous
      isPending={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={() => revoke.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>
        It stops working at once, everywhere, and for good: whatever still uses it is refused. A secret that
        it had before a rotation ends with it. This cannot be undone.
      </Text>
      <Text size="sm" c="dimmed">
        {apiKey.last_used_at === null ? (
          'It was never used.'
        ) : (
          <>
            It was last used <When at={apiKey.last_used_at} />.
          </>
        )}
      </Text>
    </Confirm>
  );
}
