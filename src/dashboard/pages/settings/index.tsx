import { Stack } from '@mantine/core';
import { PageHeader } from '../../ui/page-header.tsx';
import { AccountPanel } from './account.tsx';
import { DeletePanel } from './delete-account.tsx';
import { DevicesPanel } from './devices.tsx';
import { EventsPanel } from './events.tsx';

export default function Settings() {
  return (
    <>
      <PageHeader title="Settings">Your sign-in details, devices, and security events.</PageHeader>
      <Stack gap="lg">
        <AccountPanel />
        <DevicesPanel />
        <EventsPanel />
        <DeletePanel />
      </Stack>
    </>
  );
}
