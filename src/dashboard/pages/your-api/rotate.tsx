import { Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { DEFAULT_GRACE_SECONDS, graces } from './grace.ts';
import { type ApiKey, useRotateKey } from './keys.ts';

export function RotateDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const rotate = useRotateKey(apiKey.id);
  const [grace, setGrace] = useState(String(DEFAULT_GRACE_SECONDS));
  return (
    <Confirm
      title={t('keys.rotate.title', { name: apiKey.name })}
      action={t('keys.rotate.action')}
      isPending={rotate.isPending}
      error={rotate.error}
      onClose={onClose}
      onConfirm={() => rotate.mutate(Number(grace), { onSuccess: onClose })}
    >
      <Text>{t('keys.rotate.about')}</Text>
      <Radio.Group
        label={t('keys.rotate.grace')}
        description={t('keys.rotate.graceAbout')}
        value={grace}
        onChange={setGrace}
      >
        <Stack gap="xs" mt="xs">
          {graces.map(({ label, seconds }) => (
            <Radio
              key={seconds}
              value={String(seconds)}
              label={t(label)}
              data-autofocus={String(seconds) === grace || undefined}
            />
          ))}
        </Stack>
      </Radio.Group>
    </Confirm>
  );
}
