import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../texts/language.ts';
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
      title={t('settings.webhook.title')}
      description={t.rich('settings.webhook.about', {
        guide: (chunks) => (
          <Anchor href="/docs/guides/webhooks" inherit underline="always">
            {chunks}
          </Anchor>
        ),
      })}
    >
      <Loaded query={query}>
        {(webhook) => (
          <>
            {webhook === null ? (
              <Button variant="default" onClick={() => setOpen('url')}>
                {t('settings.webhook.setUp')}
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
  const oldEndsAt = webhook.old_secret_ends_at;
  return (
    <>
      {webhook.disabled_at !== null && <Disabled webhook={webhook} at={webhook.disabled_at} />}
      <Stack gap="sm">
        <SettingRow
          label={t('settings.webhook.url.label')}
          change={t('settings.webhook.url.change')}
          onChange={() => onOpen('url')}
        >
          {webhook.url}
        </SettingRow>
        <SettingRow
          label={t('settings.webhook.secret.label')}
          change={t('settings.webhook.replace.title')}
          action={t('settings.webhook.replace.short')}
          onChange={() => onOpen('secret')}
        >
          ••••••••
          {oldEndsAt !== null && (
            <Text span size="sm" c="dimmed" ml="xs">
              {t.rich('settings.webhook.secret.oldEnds', { when: () => <When at={oldEndsAt} /> })}
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
          {t('settings.webhook.test')}
        </BusyButton>
        <Button variant="default" className={classes.danger ?? ''} onClick={() => onOpen('delete')}>
          {t('settings.webhook.delete.action')}
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
    <Alert
      color="yellow"
      variant="light"
      icon={<WarningIcon />}
      title={t('settings.webhook.disabled.title')}
      mb="md"
    >
      <Text size="sm" c="var(--mantine-color-text)">
        {t.rich('settings.webhook.disabled.about', { when: () => <When at={at} /> })}
      </Text>
      {enable.error !== null && <ProblemAlert error={enable.error} mt="sm" />}
      <Group mt="sm">
        <BusyButton isBusy={enable.isPending} onClick={() => enable.mutate(webhook.url)}>
          {t('settings.webhook.disabled.enable')}
        </BusyButton>
      </Group>
    </Alert>
  );
}
