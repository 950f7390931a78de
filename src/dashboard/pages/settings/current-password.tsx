import { PasswordInput } from '@mantine/core';
import type { Problem } from '../../api/errors.ts';
import { t } from '../../texts/language.ts';
import { FieldError } from '../../ui/field-error.tsx';
import { isOfField } from '../../ui/field-sentences.ts';

export const isOfCurrentPassword = (problem: Problem | null): boolean =>
  isOfField(problem, 'current_password');

type Props = { value: string; problem: Problem | null; onChange: (value: string) => void; isFirst?: boolean };

export const CurrentPassword = ({ isFirst = false, onChange, problem, value }: Props) => (
  <PasswordInput
    label={t('settings.password.current')}
    autoComplete="current-password"
    maxLength={256}
    {...(isFirst && { 'data-autofocus': true })}
    aria-invalid={isOfCurrentPassword(problem)}
    value={value}
    error={
      problem !== null &&
      isOfCurrentPassword(problem) && <FieldError problem={problem} field="current_password" />
    }
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);
