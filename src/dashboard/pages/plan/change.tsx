import { Alert, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { meterNames, usageChanged, useUsage } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { WarningIcon } from '../../ui/icons.tsx';
import { formatMoney } from '../../ui/numbers.ts';
import { due, inPeriod, isFree, type Period, perMonth, savingOf } from './prices.ts';

type Props = {
  plan: Schemas['Plan'];
  period: Period;
  current: Schemas['Subscription'];
  currentName: string;
  onClose: () => void;
  onDone: (status: string) => void;
};

export function ChangePlan({ current, currentName, onClose, onDone, period, plan }: Props) {
  const { data: usage } = useUsage();
  const change = useMutation({
    mutationFn: () =>
      ok(api.PUT('/api/v1/subscription', { body: { plan: plan.id, billing_period: period } })),
    onSuccess: (subscription) => {
      queryClient.setQueryData(['subscription'], subscription);
      usageChanged();
      onDone(
        isFree(plan)
          ? t('plan.change.doneFree', { plan: plan.name })
          : t('plan.change.done', { plan: plan.name, price: due(plan, period) }),
      );
    },
  });
  const over = meterNames.filter((meter) => {
    const { [meter]: limit = 0 } = plan.limits;
    const used = usage?.used[meter];
    return used !== undefined && limit !== null && used > 0 && used >= limit;
  });
  const isSamePlan = plan.id === current.plan;
  const cost = {
    plan: plan.name,
    price: due(plan, period),
    strong: (chunks: ReactNode) => <strong>{chunks}</strong>,
  };

  return (
    <Confirm
      title={isSamePlan ? t(`plan.switch.title.${period}`) : t('plan.change.title', { plan: plan.name })}
      action={
        isSamePlan
          ? t(`plan.switch.action.${period}`)
          : isFree(plan)
            ? t('plan.change.action', { plan: plan.name })
            : t('plan.change.actionFor', { plan: plan.name, price: due(plan, period) })
      }
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      <Text>
        {isFree(plan)
          ? t.rich('plan.change.costsNothing', { plan: cost.plan, strong: cost.strong })
          : period === 'yearly'
            ? t.rich('plan.change.costsYearly', {
                ...cost,
                monthly: perMonth(plan, period),
                saving: savingOf(plan),
              })
            : t.rich('plan.change.costs', cost)}{' '}
        {current.price_cents === 0
          ? t('plan.change.payNothing', { plan: currentName })
          : t('plan.change.pay', {
              plan: currentName,
              price: inPeriod(current.billing_period, formatMoney(current.price_cents, current.currency)),
            })}
      </Text>
      {!isFree(plan) && <Text>{t('plan.change.noPayments')}</Text>}
      <Text>{t('plan.change.immediate')}</Text>
      {!isSamePlan && over.length > 0 && usage && (
        <Alert color="yellow" variant="light" icon={<WarningIcon />}>
          <Text size="sm" c="var(--mantine-color-text)">
            {over
              .map((meter) =>
                t('plan.change.used', {
                  used: t(`meters.count.${meter}`, { count: usage.used[meter] ?? 0 }),
                  limit: plan.limits[meter] ?? 0,
                }),
              )
              .join(' ')}{' '}
            {over.some((meter) => plan.limits[meter]) && t('plan.change.usedUp')}
          </Text>
        </Alert>
      )}
    </Confirm>
  );
}
