import { Stack } from '@mantine/core';
import { PageHeader } from '../../ui/page-header.tsx';
import { AccountPanel } from './account.tsx';
import { DeletePanel } from './delete-account.tsx';
import { DevicesPanel } from './devices.tsx';
import { EventsPanel } from './events.tsx';
import { WebhookPanel } from './webhook.tsx';

export default function Settings() {
  return (
    <>
      <PageHeader title="Settings">Your sign-in details, devices, security events, and webhook.</PageHeader>
      <Stack gap="lg">
        <AccountPanel />
        <DevicesPanel />
        <EventsPanel />
        <WebhookPanel />
        <DeletePanel />
      </Stack>
    </>
  );
}
