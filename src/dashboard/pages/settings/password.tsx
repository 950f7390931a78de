import { PasswordInput, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok } from '../../api/client.ts';
import { toProblem } from '../../api/errors.ts';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { FieldError } from '../../ui/field-error.tsx';
import { isOfField } from '../../ui/field-sentences.ts';
import { CurrentPassword, isOfCurrentPassword } from './current-password.tsx';

type Props = { email: string; onClose: (outcome?: string) => void };

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
  const problem = change.error === null ? null : toProblem(change.error);
  const isOfNext = isOfField(problem, 'new_password');
  return (
    <Confirm
      title={t('settings.password.change')}
      action={t('settings.password.change')}
      isPending={change.isPending}
      isReady={current !== '' && next.length >= SHORTEST}
      error={problem}
      isOfField={isOfCurrentPassword(problem) || isOfNext}
      onClose={() => onClose()}
      onConfirm={() =>
        change.mutate(undefined, {
          onSuccess: () => onClose(t('settings.password.done')),
        })
      }
    >
      <Text size="sm" c="dimmed">
        {t('settings.password.about')}
      </Text>
      {/* Password managers need the user name. */}
      <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
      <CurrentPassword isFirst value={current} problem={problem} onChange={setCurrent} />
      <PasswordInput
        label={t('settings.password.new')}
        description={t('auth.passwordLength', { length: SHORTEST })}
        autoComplete="new-password"
        maxLength={256}
        aria-invalid={isOfNext}
        value={next}
        error={problem && isOfNext && <FieldError problem={problem} field="new_password" />}
        onChange={(event) => setNext(event.currentTarget.value)}
      />
    </Confirm>
  );
}
