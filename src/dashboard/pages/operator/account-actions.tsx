/** Dialogs in which an operator changes an account. */

import { NativeSelect, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { usePlans } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { PasswordDialog } from './create-account.tsx';

type Account = Schemas['OperatorAccount'];
type Change = Schemas['ChangeAccount'];

export type AccountAction = 'plan' | 'suspend' | 'resume' | 'password' | 'delete';

type Props = { account: Account; onClose: () => void };

const changed = () => queryClient.invalidateQueries({ queryKey: ['operator'] });

export function ActionDialog({
  act,
  onDeleted,
  ...props
}: Props & { act: AccountAction; onDeleted: () => void }) {
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
  const act = isSuspended ? 'suspend' : 'resume';
  return (
    <Confirm
      title={t(`operator.${act}.question`, { email: account.email })}
      action={t(`operator.${act}.action`)}
      isDangerous={isSuspended}
      isPending={change.isPending}
      error={change.error}
      onClose={onClose}
      onConfirm={() => change.mutate({ suspended: isSuspended }, { onSuccess: onClose })}
    >
      <Text>{t(`operator.${act}.about`)}</Text>
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
      title={t('operator.changePlan.title', { email: account.email })}
      action={t('operator.changePlan.action')}
      isPending={change.isPending}
      isReady={plan !== account.plan || period !== account.billing_period}
      error={change.error}
      onClose={onClose}
      onConfirm={() => change.mutate({ plan, billing_period: period }, { onSuccess: onClose })}
    >
      <NativeSelect
        label={t('operator.plan')}
        data={
          isOffered
            ? choices
            : [
                { value: account.plan, label: t('operator.changePlan.notOffered', { plan: account.plan }) },
                ...choices,
              ]
        }
        value={plan}
        onChange={(event) => setPlan(event.currentTarget.value)}
      />
      <NativeSelect
        label={t('operator.changePlan.billing')}
        data={[
          { value: 'monthly', label: t('plan.monthly') },
          { value: 'yearly', label: t('plan.yearly') },
        ]}
        value={period}
        onChange={(event) => setPeriod(event.currentTarget.value === 'yearly' ? 'yearly' : 'monthly')}
      />
      <Text size="sm" c="dimmed">
        {t('plan.change.immediate')}
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
        title={t('operator.reset.done', { email: account.email })}
        password={reset.data.password}
        onClose={onClose}
      />
    );
  return (
    <Confirm
      title={t('operator.reset.question', { email: account.email })}
      action={t('operator.reset.action')}
      isDangerous
      isPending={reset.isPending}
      error={reset.error}
      onClose={onClose}
      onConfirm={() => reset.mutate()}
    >
      <Text>{t('operator.reset.about')}</Text>
    </Confirm>
  );
}

function DeleteDialog({ account, onClose, onDeleted }: Props & { onDeleted: () => void }) {
  const remove = useMutation({
    mutationFn: () =>
      ok(api.DELETE('/api/v1/operator/accounts/{id}', { params: { path: { id: account.id } } })),
    onSuccess: () => {
      // Remove, not invalidate: the list would still show the account, and the account's page would fetch it again.
      queryClient.removeQueries({ queryKey: ['operator', 'accounts'] });
      onDeleted();
      for (const name of ['overview', 'log'])
        void queryClient.invalidateQueries({ queryKey: ['operator', name] });
    },
  });
  return (
    <Confirm
      title={t('operator.delete.question', { email: account.email })}
      action={t('operator.delete.action')}
      isDangerous
      isPending={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
    >
      <Text>{t('operator.delete.about')}</Text>
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
      title={t('operator.revoke.question', { name })}
      action={t('operator.keys.revoke')}
      isDangerous
      isPending={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={() => revoke.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>{t('operator.revoke.about', { prefix })}</Text>
    </Confirm>
  );
}
