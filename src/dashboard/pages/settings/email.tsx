import { Text, TextInput } from '@mantine/core';
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
  const problem = change.error === null ? null : toProblem(change.error);
  const isOfEmail = isOfField(problem, 'email') || problem?.code === 'emailTaken';
  return (
    <Confirm
      title={t('settings.email.change')}
      action={t('settings.email.change')}
      isPending={change.isPending}
      isReady={email.trim() !== '' && password !== ''}
      error={problem}
      isOfField={isOfCurrentPassword(problem) || isOfEmail}
      onClose={() => onClose()}
      onConfirm={() =>
        change.mutate(undefined, {
          onSuccess: (account) => onClose(t('settings.email.done', { email: account.email })),
        })
      }
    >
      <Text size="sm" c="dimmed">
        {t('settings.email.about', { email: current })}
      </Text>
      <TextInput
        label={t('settings.email.new')}
        type="email"
        autoComplete="email"
        maxLength={254}
        data-autofocus
        value={email}
        error={problem && isOfEmail && <FieldError problem={problem} field="email" />}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <CurrentPassword value={password} problem={problem} onChange={setPassword} />
    </Confirm>
  );
}
