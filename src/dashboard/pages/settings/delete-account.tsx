import { Button, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok } from '../../api/client.ts';
import { useAccount } from '../../api/queries.ts';
import { leave } from '../../shell/navigation.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Panel } from '../../ui/panel.tsx';
import { CurrentPassword } from './current-password.tsx';
import classes from './settings.module.css';

export function DeletePanel() {
  const { data: account } = useAccount();
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel
      title={t('settings.delete.title')}
      description={t('settings.delete.about')}
      action={
        <Button variant="default" className={classes.danger ?? ''} onClick={() => setOpen(true)}>
          {t('settings.delete.action')}
        </Button>
      }
    >
      {isOpen && account && <DeleteDialog email={account.email} onClose={() => setOpen(false)} />}
    </Panel>
  );
}

function DeleteDialog({ email, onClose }: { email: string; onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [password, setPassword] = useState('');
  const remove = useMutation({
    mutationFn: () => ok(api.DELETE('/api/v1/account', { body: { current_password: password } })),
    onSuccess: () => leave(t('settings.delete.done')),
  });
  return (
    <Confirm
      title={t('settings.delete.question')}
      action={t('settings.delete.action')}
      isDangerous
      isPending={remove.isPending}
      isReady={typed.trim().toLowerCase() === email.toLowerCase()}
      error={remove.error}
      fields={['current_password']}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
    >
      {(errorAt) => (
        <>
          <Text>{t('settings.delete.warning')}</Text>
          <TextInput
            label={t('settings.delete.confirm', { email })}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            data-autofocus
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <CurrentPassword value={password} error={errorAt('current_password')} onChange={setPassword} />
        </>
      )}
    </Confirm>
  );
}
