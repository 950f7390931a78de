import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { t } from '../../texts/language.ts';
import { useCheckedForm } from '../../ui/checked-form.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';

export type Credentials = { email: string; password: string };

type Props = {
  isNew: boolean;
  action: string;
  isPending: boolean;
  error: unknown;
  onSubmit: (credentials: Credentials) => void;
};

const fields = ['email', 'password'] as const;

export function CredentialsForm({ action, error: refused, isNew, isPending, onSubmit: send }: Props) {
  const sendEntered = ({ elements }: HTMLFormElement) => {
    const entered = (field: string) => (elements.namedItem(field) as HTMLInputElement).value;
    if (!isPending) send({ email: entered('email').trim(), password: entered('password') });
  };
  const sentences = isNew ? {} : { password: t('errors.fields.password') };
  const { errorAt, form, onSubmit, other } = useCheckedForm(refused, fields, sendEntered, sentences);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isNew) first.current?.focus();
  }, [isNew]);
  const passwordError = errorAt('password');
  return (
    <form ref={form} method="post" noValidate onSubmit={onSubmit}>
      <Stack>
        <TextInput
          ref={first}
          label={t('auth.email')}
          name="email"
          type="email"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          withAsterisk={false}
          maxLength={254}
          error={errorAt('email')}
        />
        <PasswordInput
          label={t('auth.password')}
          name="password"
          autoComplete={isNew ? 'new-password' : 'current-password'}
          required
          withAsterisk={false}
          maxLength={256}
          aria-invalid={passwordError !== undefined}
          error={passwordError}
          {...(isNew && { minLength: 8, description: t('auth.passwordLength', { length: 8 }) })}
        />
        {other !== null && <ProblemAlert error={other} />}
        <Button type="submit" size="md" fullWidth loading={isPending}>
          {action}
        </Button>
      </Stack>
    </form>
  );
}
