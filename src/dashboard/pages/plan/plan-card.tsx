import { Badge, Button, Group, Text, Title } from '@mantine/core';
import type { Schemas } from '../../api/client.ts';
import { meters, metersOf } from '../../api/usage.ts';
import { CheckIcon } from '../../ui/icons.tsx';
import { countOf, formatCount, formatMoney } from '../../ui/numbers.ts';
import classes from './plan.module.css';
import { isFree, type Period, perMonth, savingOf } from './prices.ts';

type Plan = Schemas['Plan'];

type Props = {
  plan: Plan;
  period: Period;
  current: Schemas['Subscription'];
  isMain: boolean;
  onChange: (() => void) | undefined;
};

export function PlanCard({ current, isMain, onChange, period, plan }: Props) {
  const isOwn = plan.id === current.plan;
  const isAsPaid = isOwn && (isFree(plan) || period === current.billing_period);
  const saving = savingOf(plan);
  return (
    <li className={classes.plan} data-own={isOwn || undefined}>
      <Group justify="space-between" gap="xs">
        <Title order={2}>{plan.name}</Title>
        {isOwn && (
          <Badge variant="light" tt="none" className={classes.own ?? ''}>
            Your plan
          </Badge>
        )}
      </Group>
      <div>
        <div className={classes.price}>
          {perMonth(plan, period)} <small>a month</small>
        </div>
        <Text size="sm" c="dimmed" mih="1.45em" mt={4}>
          {isFree(plan)
            ? 'No charge.'
            : period === 'yearly'
              ? `${formatMoney(plan.yearly_price_cents, plan.currency)} billed yearly${saving > 0 ? ` (save ${saving}%)` : ''}.`
              : `Billed monthly (${formatMoney(plan.monthly_price_cents * 12, plan.currency)} a year).`}
        </Text>
      </div>
      <ul className={classes.limits}>
        {metersOf(plan.limits).map((meter) => {
          const limit = plan.limits[meter] ?? null;
          return (
            <li key={meter}>
              <CheckIcon size={18} />
              {limit === null ? `Unlimited ${meters[meter].many}` : `${countOf(limit, meters[meter])} a day`}
            </li>
          );
        })}
        {typeof plan.limits.tokens === 'number' && (
          <li>
            <CheckIcon size={18} />
            {formatCount(plan.limits.tokens)} model tokens a day
          </li>
        )}
        <li>
          <CheckIcon size={18} />
          {formatCount(plan.requests_per_minute)} requests a minute
        </li>
      </ul>
      {onChange && (
        <Button
          variant={isMain && !isAsPaid ? 'filled' : 'default'}
          fullWidth
          mt="auto"
          disabled={isAsPaid}
          onClick={onChange}
        >
          {isAsPaid ? 'Your plan' : isOwn ? `Switch to ${period} billing` : `Change to ${plan.name}`}
        </Button>
      )}
    </li>
  );
}
