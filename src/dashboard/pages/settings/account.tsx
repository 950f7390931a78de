import { Stack } from '@mantine/core';
import { useState } from 'react';
import { useAccount } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { Panel } from '../../ui/panel.tsx';
import { dayOf } from '../../ui/when.tsx';
import { EmailDialog } from './email.tsx';
import { PasswordDialog } from './password.tsx';
import { SettingRow } from './row.tsx';

export function AccountPanel({ onDone }: { onDone: (outcome: string) => void }) {
  const { data: account } = useAccount();
  const [open, setOpen] = useState<'email' | 'password'>();
  if (account === undefined) return null;
  const close = (outcome?: string) => {
    setOpen(undefined);
    if (outcome !== undefined) onDone(outcome);
  };
  return (
    <Panel
      title={t('settings.account.title')}
      description={t('settings.account.created', { day: dayOf(account.created_at) })}
    >
      <Stack gap="sm">
        <SettingRow
          label={t('auth.email')}
          change={t('settings.email.change')}
          onChange={() => setOpen('email')}
        >
          {account.email}
        </SettingRow>
        <SettingRow
          label={t('auth.password')}
          change={t('settings.password.change')}
          onChange={() => setOpen('password')}
        >
          ••••••••
        </SettingRow>
      </Stack>
      {open === 'email' && <EmailDialog email={account.email} onClose={close} />}
      {open === 'password' && <PasswordDialog email={account.email} onClose={close} />}
    </Panel>
  );
}
