import { Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { CurrentPassword } from './current-password.tsx';

const fields = ['email', 'current_password'] as const;

type Props = { email: string; onClose: (outcome?: string) => void };

export function EmailDialog({ email: current, onClose }: Props) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const change = useMutation({
    mutationFn: () =>
      ok(api.PATCH('/api/v1/account', { body: { email: email.trim(), current_password: password } })),
    onSuccess: (account) => {
      queryClient.setQueryData(['account'], account);
      queryClient.invalidateQueries({ queryKey: ['events'] });
    },
  });
  return (
    <Confirm
      title={t('settings.email.change')}
      action={t('settings.email.change')}
      isPending={change.isPending}
      error={change.error}
      fields={fields}
      onClose={() => onClose()}
      onConfirm={() =>
        change.mutate(undefined, {
          onSuccess: (account) => onClose(t('settings.email.done', { email: account.email })),
        })
      }
    >
      {(errorAt) => (
        <>
          <Text size="sm" c="dimmed">
            {t('settings.email.about', { email: current })}
          </Text>
          <TextInput
            label={t('settings.email.new')}
            name="email"
            type="email"
            required
            withAsterisk={false}
            autoComplete="email"
            maxLength={254}
            data-autofocus
            value={email}
            error={errorAt('email')}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <CurrentPassword value={password} error={errorAt('current_password')} onChange={setPassword} />
        </>
      )}
    </Confirm>
  );
}
