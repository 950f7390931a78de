import { Stack } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../texts/language.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { StatusMessage } from '../../ui/status-message.tsx';
import { AccountPanel } from './account.tsx';
import { DeletePanel } from './delete-account.tsx';
import { DevicesPanel } from './devices.tsx';
import { EventsPanel } from './events.tsx';
import { LanguagePanel } from './language.tsx';
import { WebhookPanel } from './webhook.tsx';

export default function Settings() {
  const [status, setStatus] = useState<string>();
  return (
    <>
      <PageHeader title={t('settings.title')}>{t('settings.about')}</PageHeader>
      <StatusMessage message={status} onClose={() => setStatus(undefined)} />
      <Stack gap="lg">
        <AccountPanel onDone={setStatus} />
        <LanguagePanel />
        <DevicesPanel />
        <EventsPanel />
        <WebhookPanel />
        <DeletePanel />
      </Stack>
    </>
  );
}
