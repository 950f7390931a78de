import { Alert, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { meterNames, meters, usageChanged, useUsage } from '../../api/usage.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { WarningIcon } from '../../ui/icons.tsx';
import { countOf, formatCount, formatMoney } from '../../ui/numbers.ts';
import { due, isFree, type Period, perMonth, savingOf } from './prices.ts';

type Props = {
  plan: Schemas['Plan'];
  period: Period;
  current: Schemas['Subscription'];
  currentName: string;
  onClose: () => void;
  onDone: (said: string) => void;
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
          ? `You are now on the ${plan.name} plan, at no cost.`
          : `You are now on the ${plan.name} plan, at ${due(plan, period)}.`,
      );
    },
  });
  const over = meterNames.filter((meter) => {
    const { [meter]: limit = 0 } = plan.limits;
    const used = usage?.used[meter];
    return used !== undefined && limit !== null && used > 0 && used >= limit;
  });
  const isSamePlan = plan.id === current.plan;
  const before =
    current.price_cents === 0
      ? 'nothing'
      : `${formatMoney(current.price_cents, current.currency)} a ${current.billing_period === 'yearly' ? 'year' : 'month'}`;

  return (
    <Confirm
      title={isSamePlan ? `Switch to ${period} billing?` : `Change to ${plan.name}?`}
      action={
        isSamePlan
          ? `Switch to ${period} billing`
          : isFree(plan)
            ? `Change to ${plan.name}`
            : `Change to ${plan.name} for ${due(plan, period)}`
      }
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      <Text>
        {isFree(plan) ? (
          <>
            {plan.name} costs <strong>nothing</strong>
          </>
        ) : (
          <>
            {plan.name} costs <strong>{due(plan, period)}</strong>
            {period === 'yearly' &&
              `, which is ${perMonth(plan, period)} a month and saves ${savingOf(plan)}%`}
          </>
        )}
        . You currently pay {before} for {currentName}.
      </Text>
      {!isFree(plan) && (
        <Text>Parley does not process payments. Ask the operator whether and how you are billed.</Text>
      )}
      <Text>The change takes effect immediately. Today's usage still counts.</Text>
      {!isSamePlan && over.length > 0 && usage && (
        <Alert color="yellow" variant="light" icon={<WarningIcon />}>
          <Text size="sm" c="var(--mantine-color-text)">
            {over
              .map(
                (meter) =>
                  `You have already used ${countOf(usage.used[meter] ?? 0, meters[meter])} today, and this plan allows ${formatCount(plan.limits[meter] ?? 0)}.`,
              )
              .join(' ')}{' '}
            If you change now, you cannot use more until 00:00 UTC.
          </Text>
        </Alert>
      )}
    </Confirm>
  );
}
