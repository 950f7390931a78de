import { PasswordInput, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { CurrentPassword } from './current-password.tsx';

type Props = { email: string; onClose: (outcome?: string) => void };

const fields = ['current_password', 'new_password'] as const;
const SHORTEST = 8;

export function PasswordDialog({ email, onClose }: Props) {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const change = useMutation({
    mutationFn: () =>
      ok(api.POST('/api/v1/account/password', { body: { current_password: current, new_password: next } })),
    onSuccess: () => {
      queryClient.invalidateQueries({ queryKey: ['sessions'] });
      queryClient.invalidateQueries({ queryKey: ['events'] });
    },
  });
  return (
    <Confirm
      title={t('settings.password.change')}
      action={t('settings.password.change')}
      isPending={change.isPending}
      error={change.error}
      fields={fields}
      onClose={() => onClose()}
      onConfirm={() =>
        change.mutate(undefined, {
          onSuccess: () => onClose(t('settings.password.done')),
        })
      }
    >
      {(errorAt) => (
        <>
          <Text size="sm" c="dimmed">
            {t('settings.password.about')}
          </Text>
          {/* Password managers need the user name. */}
          <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
          <CurrentPassword
            isFirst
            value={current}
            error={errorAt('current_password')}
            onChange={setCurrent}
          />
          <PasswordInput
            label={t('settings.password.new')}
            description={t('auth.passwordLength', { length: SHORTEST })}
            name="new_password"
            autoComplete="new-password"
            required
            withAsterisk={false}
            minLength={SHORTEST}
            maxLength={256}
            aria-invalid={errorAt('new_password') !== undefined}
            value={next}
            error={errorAt('new_password')}
            onChange={(event) => setNext(event.currentTarget.value)}
          />
        </>
      )}
    </Confirm>
  );
}
