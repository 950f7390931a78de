import { Alert, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { InfoIcon } from '../../ui/icons.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import type { Settings } from './new-settings.ts';
import { saveSettings, useUnsavedSettings } from './unsaved-settings.ts';

export function UnsavedSettingsAlert({ conversationId }: { conversationId: string }) {
  const unsaved = useUnsavedSettings(conversationId);
  const save = useMutation({ mutationFn: (settings: Settings) => saveSettings(conversationId, settings) });
  if (unsaved === undefined) return null;
  return (
    <Alert color="yellow" variant="light" icon={<InfoIcon />} role="alert" mb="xs">
      <Text size="sm" c="var(--mantine-color-text)">
        {t('chat.edit.notSaved')}
      </Text>
      {save.error !== null && <ProblemAlert error={save.error} mt="sm" />}
      <BusyButton size="xs" mt="sm" isBusy={save.isPending} onClick={() => save.mutate(unsaved)}>
        {t('chat.edit.saveSettings')}
      </BusyButton>
    </Alert>
  );
}
