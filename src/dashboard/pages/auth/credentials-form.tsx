import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { Problem } from '../../api/errors.ts';
import { FieldError } from '../../ui/field-error.tsx';
import { useFocusOnError } from '../../ui/invalid-field.ts';
import { ProblemAlert } from '../../ui/problem.tsx';

export type Credentials = { email: string; password: string };

type Props = {
  isNew: boolean;
  action: string;
  isPending: boolean;
  error: unknown;
  onSubmit: (credentials: Credentials) => void;
};

const errorAt = (error: unknown, field: string): ReactNode =>
  error instanceof Problem && error.param === field ? <FieldError problem={error} /> : undefined;

export function CredentialsForm({ action, error, isNew, isPending, onSubmit }: Props) {
  const form = useFocusOnError<HTMLFormElement>(error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isPending) return;
    const fields = new FormData(event.currentTarget);
    onSubmit({ email: String(fields.get('email')).trim(), password: String(fields.get('password')) });
  };
  const emailError = errorAt(error, 'email');
  const passwordError = errorAt(error, 'password');
  return (
    <form ref={form} method="post" onSubmit={submit}>
      <Stack>
        <TextInput
          label="Email address"
          name="email"
          type="email"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          withAsterisk={false}
          maxLength={254}
          error={emailError}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete={isNew ? 'new-password' : 'current-password'}
          required
          withAsterisk={false}
          maxLength={256}
          aria-invalid={passwordError !== undefined}
          error={passwordError}
          {...(isNew && { minLength: 8, description: '8 characters or more.' })}
        />
        {error !== null && emailError === undefined && passwordError === undefined && (
          <ProblemAlert error={error} />
        )}
        <Button type="submit" size="md" fullWidth loading={isPending}>
          {action}
        </Button>
      </Stack>
    </form>
  );
}
