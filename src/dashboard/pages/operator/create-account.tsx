import { Alert, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { CopyField } from '../../ui/copy-field.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { WarningIcon } from '../../ui/icons.tsx';

type Props = { plans: readonly Schemas['Plan'][]; onClose: () => void };

export function CreateAccountDialog({ onClose, plans }: Props) {
  const [email, setEmail] = useState('');
  const [plan, setPlan] = useState('');
  const create = useMutation({
    mutationFn: () => {
      const body = { email: email.trim(), ...(plan !== '' && { plan }) };
      return ok(api.POST('/api/v1/operator/accounts', { body }));
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['operator'] }),
  });
  if (create.data !== undefined)
    return (
      <PasswordDialog
        title={t('operator.create.done', { email: create.data.email })}
        password={create.data.password}
        onClose={onClose}
      />
    );
  return (
    <Confirm
      title={t('operator.create.action')}
      action={t('operator.create.action')}
      isPending={create.isPending}
      error={create.error}
      fields={['email']}
      onClose={onClose}
      onConfirm={() => create.mutate()}
    >
      {(errorAt) => (
        <>
          <Text size="sm" c="dimmed">
            {t('operator.create.about')}
          </Text>
          <TextInput
            label={t('auth.email')}
            name="email"
            type="email"
            required
            withAsterisk={false}
            autoComplete="off"
            maxLength={254}
            data-autofocus
            value={email}
            error={errorAt('email')}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <NativeSelect
            label={t('operator.plan')}
            data={plans.map(({ id, name }, index) => ({ value: index === 0 ? '' : id, label: name }))}
            value={plan}
            onChange={(event) => setPlan(event.currentTarget.value)}
          />
        </>
      )}
    </Confirm>
  );
}

/** Shows a password once. Only its button closes the dialog. */
export const PasswordDialog = ({
  onClose,
  password,
  title,
}: {
  title: string;
  password: string;
  onClose: () => void;
}) => (
  <Dialog
    title={title}
    closeOnEscape={false}
    closeOnClickOutside={false}
    withCloseButton={false}
    onClose={() => {}}
  >
    <Stack>
      <Alert color="yellow" variant="light" icon={<WarningIcon />} title={t('operator.password.copyNow')}>
        {t('operator.password.about')}
      </Alert>
      <CopyField value={password} label={t('operator.password.name')} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('ui.done')}</Button>
      </Group>
    </Stack>
  </Dialog>
);
