import { PasswordInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { t } from '../../texts/language.ts';

type Props = { value: string; error: ReactNode; onChange: (value: string) => void; isFirst?: boolean };

export const CurrentPassword = ({ error, isFirst = false, onChange, value }: Props) => (
  <PasswordInput
    label={t('settings.password.current')}
    name="current_password"
    autoComplete="current-password"
    required
    withAsterisk={false}
    maxLength={256}
    {...(isFirst && { 'data-autofocus': true })}
    aria-invalid={error !== undefined}
    value={value}
    error={error}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);
