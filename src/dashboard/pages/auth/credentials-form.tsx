import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { toProblem } from '../../api/errors.ts';
import { t } from '../../texts/language.ts';
import { FieldError } from '../../ui/field-error.tsx';
import { isOfField, sentenceFor } from '../../ui/field-sentences.ts';
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

const fields = ['email', 'password'] as const;
type Field = (typeof fields)[number];

/** Found in the form, before it is sent. */
class Invalid {
  readonly fields: readonly Field[];
  constructor(invalid: readonly Field[]) {
    this.fields = invalid;
  }
}

function errorAt(error: unknown, field: Field): ReactNode {
  if (isOfField(error, field)) return <FieldError problem={toProblem(error)} field={field} />;
  if (!(error instanceof Invalid) || !error.fields.includes(field)) return undefined;
  return <span role="alert">{sentenceFor(field)}</span>;
}

export function CredentialsForm({ action, error: refused, isNew, isPending, onSubmit }: Props) {
  const [invalid, setInvalid] = useState<Invalid>();
  const error = invalid ?? refused;
  const form = useFocusOnError<HTMLFormElement>(error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isPending) return;
    const { elements } = event.currentTarget;
    const inputOf = (field: Field) => elements.namedItem(field) as HTMLInputElement;
    const wrong = fields.filter((field) => !inputOf(field).validity.valid);
    setInvalid(wrong.length > 0 ? new Invalid(wrong) : undefined);
    if (wrong.length === 0)
      onSubmit({ email: inputOf('email').value.trim(), password: inputOf('password').value });
  };
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isNew) first.current?.focus();
  }, [isNew]);
  const emailError = errorAt(error, 'email');
  const passwordError = errorAt(error, 'password');
  return (
    <form ref={form} method="post" noValidate onSubmit={submit}>
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
          error={emailError}
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
        {error !== null && error !== undefined && emailError === undefined && passwordError === undefined && (
          <ProblemAlert error={error} />
        )}
        <Button type="submit" size="md" fullWidth loading={isPending}>
          {action}
        </Button>
      </Stack>
    </form>
  );
}
