/** Dialogs in which an operator changes an account. */
import { NativeSelect, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { usePlans } from '../../api/usage.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { PasswordDialog } from './create-account.tsx';

type Account = Schemas['OperatorAccount'];
type Change = Schemas['ChangeAccount'];

export type Act = 'plan' | 'suspend' | 'resume' | 'password' | 'delete';

type Props = { account: Account; onClose: () => void };

const changed = () => queryClient.invalidateQueries({ queryKey: ['operator'] });

export function ActDialog({ act, onDeleted, ...props }: Props & { act: Act; onDeleted: () => void }) {
  if (act === 'plan') return <PlanDialog {...props} />;
  if (act === 'password') return <ResetDialog {...props} />;
  if (act === 'delete') return <DeleteDialog {...props} onDeleted={onDeleted} />;
  return <SuspensionDialog {...props} isSuspended={act === 'suspend'} />;
}

const useChange = ({ id }: Account) =>
  useMutation({
    mutationFn: (body: Change) =>
      ok(api.PATCH('/api/v1/operator/accounts/{id}', { params: { path: { id } }, body })),
    onSettled: changed,
  });

function SuspensionDialog({ account, isSuspended, onClose }: Props & { isSuspended: boolean }) {
  const change = useChange(account);
  return (
    <Confirm
      title={isSuspended ? `Suspend ${account.email}?` : `Resume ${account.email}?`}
      action={isSuspended ? 'Suspend account' : 'Resume account'}
      isDangerous={isSuspended}
      isPending={change.isPending}
      error={change.error}
      onClose={onClose}
      onConfirm={() => change.mutate({ suspended: isSuspended }, { onSuccess: onClose })}
    >
      <Text>
        {isSuspended
          ? 'Its sessions end, and its keys and sign-ins are refused within a second. Nothing is deleted.'
          : 'Its keys work again, and its owner can sign in.'}
      </Text>
    </Confirm>
  );
}

function PlanDialog({ account, onClose }: Props) {
  const { data: plans } = usePlans();
  const [plan, setPlan] = useState(account.plan);
  const [period, setPeriod] = useState(account.billing_period);
  const change = useChange(account);
  const known = plans?.data ?? [];
  const choices = known.map(({ id, name }) => ({ value: id, label: name }));
  const isOffered = known.some(({ id }) => id === account.plan);
  return (
    <Confirm
      title={`Change the plan of ${account.email}`}
      action="Change plan"
      isPending={change.isPending}
      isReady={plan !== account.plan || period !== account.billing_period}
      error={change.error}
      onClose={onClose}
      onConfirm={() => change.mutate({ plan, billing_period: period }, { onSuccess: onClose })}
    >
      <NativeSelect
        label="Plan"
        data={
          isOffered
            ? choices
            : [{ value: account.plan, label: `${account.plan} (no longer offered)` }, ...choices]
        }
        value={plan}
        onChange={(event) => setPlan(event.currentTarget.value)}
      />
      <NativeSelect
        label="Billing"
        data={[
          { value: 'monthly', label: 'Monthly' },
          { value: 'yearly', label: 'Yearly' },
        ]}
        value={period}
        onChange={(event) => setPeriod(event.currentTarget.value === 'yearly' ? 'yearly' : 'monthly')}
      />
      <Text size="sm" c="dimmed">
        The change takes effect immediately. Today's usage still counts.
      </Text>
    </Confirm>
  );
}

function ResetDialog({ account, onClose }: Props) {
  const reset = useMutation({
    mutationFn: () =>
      ok(api.POST('/api/v1/operator/accounts/{id}/reset-password', { params: { path: { id: account.id } } })),
    onSettled: changed,
  });
  if (reset.data !== undefined)
    return (
      <PasswordDialog
        title={`New password for ${account.email}`}
        password={reset.data.password}
        onClose={onClose}
      />
    );
  return (
    <Confirm
      title={`Reset the password of ${account.email}?`}
      action="Reset password"
      isDangerous
      isPending={reset.isPending}
      error={reset.error}
      onClose={onClose}
      onConfirm={() => reset.mutate()}
    >
      <Text>
        Parley sets a random password and shows it once. All sessions of the account end. Its keys still work.
      </Text>
    </Confirm>
  );
}

function DeleteDialog({ account, onClose, onDeleted }: Props & { onDeleted: () => void }) {
  const remove = useMutation({
    mutationFn: () =>
      ok(api.DELETE('/api/v1/operator/accounts/{id}', { params: { path: { id: account.id } } })),
    onSuccess: () => {
      // The list would show it until it is read again. Its own page would ask for it once more.
      queryClient.removeQueries({ queryKey: ['operator', 'accounts'] });
      onDeleted();
      for (const name of ['overview', 'log'])
        void queryClient.invalidateQueries({ queryKey: ['operator', name] });
    },
  });
  return (
    <Confirm
      title={`Delete ${account.email}?`}
      action="Delete account"
      isDangerous
      isPending={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
    >
      <Text>
        Its sessions and keys end immediately. Its conversations and its request log are deleted soon after.
        This cannot be undone.
      </Text>
    </Confirm>
  );
}

export function RevokeKeyDialog({
  apiKey: { key_prefix: prefix, name },
  onClose,
}: {
  apiKey: Schemas['KeyLabel'];
  onClose: () => void;
}) {
  const revoke = useMutation({
    mutationFn: () => ok(api.DELETE('/api/v1/operator/keys/{prefix}', { params: { path: { prefix } } })),
    onSettled: changed,
  });
  return (
    <Confirm
      title={`Revoke “${name}”?`}
      action="Revoke key"
      isDangerous
      isPending={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={() => revoke.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>The key {prefix}… stops working on every replica within a second. This cannot be undone.</Text>
    </Confirm>
  );
}
