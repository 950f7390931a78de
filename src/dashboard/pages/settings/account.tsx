import { Button, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
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
    <Panel title="Account" description={`Created ${dayOf(account.created_at)}.`}>
      <Stack gap="sm">
        <Row label="Email address" change="Change email address" onChange={() => setOpen('email')}>
          {account.email}
        </Row>
        <Row label="Password" change="Change password" onChange={() => setOpen('password')}>
          ••••••••
        </Row>
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

type RowProps = { label: string; change: string; onChange: () => void; children: ReactNode };

const Row = ({ change, children, label, onChange }: RowProps) => (
  <Group justify="space-between" wrap="nowrap" className={classes.row ?? ''}>
    <div>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text style={{ overflowWrap: 'anywhere' }}>{children}</Text>
    </div>
    <Button variant="default" flex="none" aria-label={change} onClick={onChange}>
      Change
    </Button>
  </Group>
);
