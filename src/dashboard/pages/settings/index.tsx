import { Stack } from '@mantine/core';
import { t } from '../../texts/language.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { AccountPanel } from './account.tsx';
import { DeletePanel } from './delete-account.tsx';
import { DevicesPanel } from './devices.tsx';
import { EventsPanel } from './events.tsx';
import { LanguagePanel } from './language.tsx';
import { WebhookPanel } from './webhook.tsx';

export default function Settings() {
  return (
    <>
      <PageHeader title={t('settings.title')}>{t('settings.about')}</PageHeader>
      <Stack gap="lg">
        <AccountPanel />
        <LanguagePanel />
        <DevicesPanel />
        <EventsPanel />
        <WebhookPanel />
        <DeletePanel />
      </Stack>
    </>
  );
}
