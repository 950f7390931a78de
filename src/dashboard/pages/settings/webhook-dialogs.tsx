import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { toProblem } from '../../api/errors.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { CopyField } from '../../ui/copy-field.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { FieldError } from '../../ui/field-error.tsx';
import { isOfField } from '../../ui/field-sentences.ts';
import { WarningIcon } from '../../ui/icons.tsx';
import { useDeleteWebhook, usePutWebhook, useReplaceSecret } from './webhook-queries.ts';

/** `onSecret` is called with a new secret, which can be shown only now. */
type Props = { onClose: () => void; onSecret: (secret: string) => void };

export function UrlDialog({ current, onClose, onSecret }: Props & { current: string }) {
  const [url, setUrl] = useState(current);
  const put = usePutWebhook();
  const problem = put.error === null ? null : toProblem(put.error);
  const isOfUrl = isOfField(problem, 'url');
  return (
    <Confirm
      title={current === '' ? 'Set up a webhook' : 'Change the webhook’s address'}
      action={current === '' ? 'Set up webhook' : 'Save address'}
      isPending={put.isPending}
      isReady={url.trim() !== ''}
      error={problem}
      isOfField={isOfUrl}
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
      <TextInput
        label="Address"
        description="An https URL that accepts POST requests, reachable from the internet."
        placeholder="https://hooks.example.com/parley"
        type="url"
        inputMode="url"
        autoComplete="off"
        maxLength={2000}
        data-autofocus
        value={url}
        error={problem && isOfUrl && <FieldError problem={problem} field="url" />}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
    </Confirm>
  );
}

export function ReplaceSecretDialog({ onClose, onSecret }: Props) {
  const replace = useReplaceSecret();
  return (
    <Confirm
      title="Replace the signing secret?"
      action="Replace secret"
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
      <Text>
        You get a new secret, shown only once. For 24 hours, messages are signed with both secrets, so that
        your receiver keeps working while you update it.
      </Text>
    </Confirm>
  );
}

export function DeleteWebhookDialog({ onClose }: { onClose: () => void }) {
  const remove = useDeleteWebhook();
  return (
    <Confirm
      title="Delete the webhook?"
      action="Delete webhook"
      isDangerous
      isPending={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>
        You will get no more messages. Messages that wait and the list of deliveries are deleted too.
      </Text>
    </Confirm>
  );
}

export const SecretDialog = ({ onClose, secret }: { secret: string; onClose: () => void }) => (
  <Dialog
    size="lg"
    title="Your signing secret"
    closeOnEscape={false}
    closeOnClickOutside={false}
    withCloseButton={false}
    onClose={onClose}
  >
    <Stack>
      <Alert color="yellow" variant="light" icon={<WarningIcon />} title="Copy the secret now">
        It is shown only once. Your receiver needs it to check that messages come from this service. If you
        lose it, replace it.
      </Alert>
      <CopyField value={secret} label="secret" />
      <Group justify="flex-end">
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  </Dialog>
);
