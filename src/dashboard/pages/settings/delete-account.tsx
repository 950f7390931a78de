import { Button, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok } from '../../api/client.ts';
import { toProblem } from '../../api/errors.ts';
import { useAccount } from '../../api/queries.ts';
import { leave } from '../../shell/navigation.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Panel } from '../../ui/panel.tsx';
import { CurrentPassword, isOfCurrentPassword } from './current-password.tsx';
import classes from './settings.module.css';

export function DeletePanel() {
  const { data: account } = useAccount();
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel
      title="Delete account"
      description="All keys and sessions end immediately. Conversations and usage are removed soon after."
      action={
        <Button variant="default" className={classes.danger ?? ''} onClick={() => setOpen(true)}>
          Delete account
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
    onSuccess: () => leave('Your account has been deleted.'),
  });
  const problem = remove.error === null ? null : toProblem(remove.error);
  return (
    <Confirm
      title="Delete your account?"
      action="Delete account"
      isDangerous
      isPending={remove.isPending}
      isReady={typed.trim().toLowerCase() === email.toLowerCase() && password !== ''}
      error={problem}
      isOfField={isOfCurrentPassword(problem)}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
    >
      <Text>This cannot be undone. Apps that use your keys stop working immediately.</Text>
      <TextInput
        label={`To confirm, type ${email}`}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        data-autofocus
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <CurrentPassword value={password} problem={problem} onChange={setPassword} />
    </Confirm>
  );
}
