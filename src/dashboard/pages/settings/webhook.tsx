import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { BusyButton } from '../../ui/busy-button.tsx';
import { WarningIcon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { When } from '../../ui/when.tsx';
import { SettingRow } from './row.tsx';
import classes from './settings.module.css';
import { Deliveries } from './webhook-deliveries.tsx';
import { DeleteWebhookDialog, ReplaceSecretDialog, SecretDialog, UrlDialog } from './webhook-dialogs.tsx';
import { usePutWebhook, useTestWebhook, useWebhook, type Webhook } from './webhook-queries.ts';

type Open = 'url' | 'secret' | 'delete' | undefined;

export function WebhookPanel() {
  const query = useWebhook();
  const [open, setOpen] = useState<Open>();
  const [secret, setSecret] = useState<string>();
  const close = () => setOpen(undefined);
  return (
    <Panel
      title="Webhook"
      description={
        <>
          Messages to an address of yours about daily limits, new and leaked keys, and sign-ins from new
          devices.{' '}
          <Anchor href="/docs/guides/webhooks" inherit underline="always">
            How webhooks work
          </Anchor>
        </>
      }
    >
      <Loaded query={query}>
        {(webhook) => (
          <>
            {webhook === null ? (
              <Button variant="default" onClick={() => setOpen('url')}>
                Set up a webhook
              </Button>
            ) : (
              <CurrentWebhook webhook={webhook} onOpen={setOpen} />
            )}
            {open === 'url' && (
              <UrlDialog current={webhook?.url ?? ''} onClose={close} onSecret={setSecret} />
            )}
            {open === 'secret' && <ReplaceSecretDialog onClose={close} onSecret={setSecret} />}
            {open === 'delete' && <DeleteWebhookDialog onClose={close} />}
            {secret !== undefined && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function CurrentWebhook({ onOpen, webhook }: { webhook: Webhook; onOpen: (what: Open) => void }) {
  const test = useTestWebhook();
  return (
    <>
      {webhook.disabled_at !== null && <Disabled webhook={webhook} at={webhook.disabled_at} />}
      <Stack gap="sm">
        <SettingRow label="Address" change="Change the webhook’s address" onChange={() => onOpen('url')}>
          {webhook.url}
        </SettingRow>
        <SettingRow
          label="Signing secret"
          change="Replace the signing secret"
          action="Replace"
          onChange={() => onOpen('secret')}
        >
          ••••••••
          {webhook.old_secret_ends_at !== null && (
            <Text span size="sm" c="dimmed" ml="xs">
              the replaced one stops working <When at={webhook.old_secret_ends_at} />
            </Text>
          )}
        </SettingRow>
      </Stack>
      <Group mt="md">
        <BusyButton
          isBusy={test.isPending}
          disabled={webhook.disabled_at !== null}
          onClick={() => test.mutate()}
        >
          Send a test message
        </BusyButton>
        <Button variant="default" className={classes.danger ?? ''} onClick={() => onOpen('delete')}>
          Delete webhook
        </Button>
      </Group>
      {test.error !== null && <ProblemAlert error={test.error} mt="md" />}
      <Deliveries />
    </>
  );
}

function Disabled({ at, webhook }: { webhook: Webhook; at: string }) {
  const enable = usePutWebhook();
  return (
    <Alert color="yellow" variant="light" icon={<WarningIcon />} title="The webhook is disabled" mb="md">
      <Text size="sm" c="var(--mantine-color-text)">
        Your endpoint returned 410 Gone <When at={at} />, so no messages are sent.
      </Text>
      {enable.error !== null && <ProblemAlert error={enable.error} mt="sm" />}
      <Group mt="sm">
        <BusyButton isBusy={enable.isPending} onClick={() => enable.mutate(webhook.url)}>
          Enable it again
        </BusyButton>
      </Group>
    </Alert>
  );
}
