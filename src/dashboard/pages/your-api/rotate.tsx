import { Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Confirm } from '../../ui/confirm.tsx';
import { DEFAULT_GRACE_SECONDS, graces } from './grace.ts';
import { type ApiKey, useRotateKey } from './keys.ts';

export function RotateDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const rotate = useRotateKey(apiKey.id);
  const [grace, setGrace] = useState(String(DEFAULT_GRACE_SECONDS));
  return (
    <Confirm
      title={`Rotate “${apiKey.name}”`}
      action="Rotate key"
      isPending={rotate.isPending}
      error={rotate.error}
      onClose={onClose}
      onConfirm={() => rotate.mutate(Number(grace), { onSuccess: onClose })}
    >
      <Text>
        The key gets a new secret, shown only once. Its name, scopes, origins, and expiry stay the same.
      </Text>
      <Radio.Group
        label="The old secret stops working"
        description="A later time gives you time to update every app that uses the key."
        value={grace}
        onChange={setGrace}
      >
        <Stack gap="xs" mt="xs">
          {graces.map(({ label, seconds }) => (
            <Radio
              key={seconds}
              value={String(seconds)}
              label={label}
              data-autofocus={String(seconds) === grace || undefined}
            />
          ))}
        </Stack>
      </Radio.Group>
    </Confirm>
  );
}
