/** How one signs in: the e-mail address and the password. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useAccount } from '../../api/queries.ts';
import { Panel } from '../../ui/panel.tsx';
import { dayOf } from '../../ui/when.tsx';
import { EmailDialog } from './email.tsx';
import { PasswordDialog } from './password.tsx';
import classes from './settings.module.css';

export function AccountPanel() {
  const { data: account } = useAccount();
  const [open, setOpen] = useState<'email' | 'password'>();
  const [done, setDone] = useState('');
  if (account === undefined) return null;
  const close = (outcome = '') => {
    setOpen(undefined);
    setDone(outcome);
  };
  return (
    <Panel title="Account" description={`Since ${dayOf(account.created_at)}.`}>
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap" className={classes.row ?? ''}>
          <div>
            <Text size="sm" c="dimmed">
              E-mail address
            </Text>
            <Text style={{ overflowWrap: 'anywhere' }}>{account.email}</Text>
          </div>
          <Button
            variant="default"
            flex="none"
            aria-label="Change the e-mail address"
            onClick={() => setOpen('email')}
          >
            Change
          </Button>
        </Group>
        <Group justify="space-between" wrap="nowrap" className={classes.row ?? ''}>
          <div>
            <Text size="sm" c="dimmed">
              Password
            </Text>
            <Text>••••••••</Text>
          </div>
          <Button
            variant="default"
            flex="none"
            aria-label="Change the password"
            onClick={() => setOpen('password')}
          >
            Change
          </Button>
        </Group>
      </Stack>
      <div role="status">
        {done !== '' && (
          <Text size="sm" mt="md">
            {done}
          </Text>
        )}
      </div>
      {open === 'email' && <EmailDialog email={account.email} onClose={close} />}
      {open === 'password' && <PasswordDialog email={account.email} onClose={close} />}
    </Panel>
  );
}
