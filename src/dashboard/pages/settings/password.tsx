import { PasswordInput, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok } from '../../api/client.ts';
import { toProblem } from '../../api/errors.ts';
import { queryClient } from '../../api/queries.ts';
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
      title="Change password"
      action="Change password"
      isPending={change.isPending}
      isReady={current !== '' && next.length >= SHORTEST}
      error={problem}
      isOfField={isOfCurrentPassword(problem) || isOfNext}
      onClose={() => onClose()}
      onConfirm={() =>
        change.mutate(undefined, {
          onSuccess: () => onClose('Password changed. All other devices are signed out.'),
        })
      }
    >
      <Text size="sm" c="dimmed">
        All other devices will be signed out. Keys keep working.
      </Text>
      {/* Password managers need the user name. */}
      <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
      <CurrentPassword isFirst value={current} problem={problem} onChange={setCurrent} />
      <PasswordInput
        label="New password"
        description={`${SHORTEST} characters or more.`}
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
