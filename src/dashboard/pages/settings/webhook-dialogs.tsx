import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { CopyField } from '../../ui/copy-field.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { WarningIcon } from '../../ui/icons.tsx';
import { useDeleteWebhook, usePutWebhook, useReplaceSecret } from './webhook-queries.ts';

/** `onSecret` receives a new secret, which is available only once. */
type Props = { onClose: () => void; onSecret: (secret: string) => void };

export function UrlDialog({ current, onClose, onSecret }: Props & { current: string }) {
  const [url, setUrl] = useState(current);
  const put = usePutWebhook();
  return (
    <Confirm
      title={current === '' ? t('settings.webhook.setUp') : t('settings.webhook.url.change')}
      action={current === '' ? t('settings.webhook.url.setUp') : t('settings.webhook.url.save')}
      isPending={put.isPending}
      error={put.error}
      fields={['url']}
      onClose={onClose}
      onConfirm={() =>
        put.mutate(url.trim(), {
          onSuccess: ({ secret }) => {
            onClose();
            if (secret !== null) onSecret(secret);
          },
        })
      }
    >
      {(errorAt) => (
        <TextInput
          label={t('settings.webhook.url.label')}
          description={t('settings.webhook.url.about')}
          placeholder="https://hooks.example.com/parley"
          name="url"
          type="url"
          required
          withAsterisk={false}
          inputMode="url"
          autoComplete="off"
          maxLength={2000}
          data-autofocus
          value={url}
          error={errorAt('url')}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
      )}
    </Confirm>
  );
}

export function ReplaceSecretDialog({ onClose, onSecret }: Props) {
  const replace = useReplaceSecret();
  return (
    <Confirm
      title={t('settings.webhook.replace.question')}
      action={t('settings.webhook.replace.action')}
      isPending={replace.isPending}
      error={replace.error}
      onClose={onClose}
      onConfirm={() =>
        replace.mutate(undefined, {
          onSuccess: ({ secret }) => {
            onClose();
            if (secret !== null) onSecret(secret);
          },
        })
      }
    >
      <Text>{t('settings.webhook.replace.about')}</Text>
    </Confirm>
  );
}

export function DeleteWebhookDialog({ onClose }: { onClose: () => void }) {
  const remove = useDeleteWebhook();
  return (
    <Confirm
      title={t('settings.webhook.delete.question')}
      action={t('settings.webhook.delete.action')}
      isDangerous
      isPending={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>{t('settings.webhook.delete.about')}</Text>
    </Confirm>
  );
}

export const SecretDialog = ({ onClose, secret }: { secret: string; onClose: () => void }) => (
  <Dialog
    size="lg"
    title={t('settings.webhook.secret.title')}
    closeOnEscape={false}
    closeOnClickOutside={false}
    withCloseButton={false}
    onClose={onClose}
  >
    <Stack>
      <Alert
        color="yellow"
        variant="light"
        icon={<WarningIcon />}
        title={t('settings.webhook.secret.copyNow')}
      >
        {t('settings.webhook.secret.about')}
      </Alert>
      <CopyField value={secret} label={t('settings.webhook.secret.name')} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('ui.done')}</Button>
      </Group>
    </Stack>
  </Dialog>
);
