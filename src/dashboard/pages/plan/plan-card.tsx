import { Badge, Button, Group, Text, Title } from '@mantine/core';
import type { Schemas } from '../../api/client.ts';
import { metersOf } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { CheckIcon } from '../../ui/icons.tsx';
import { formatMoney } from '../../ui/numbers.ts';
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
            {t('plan.card.own')}
          </Badge>
        )}
      </Group>
      <div>
        <div className={classes.price}>
          {isFree(plan)
            ? t('plan.card.free')
            : t.rich('plan.card.perMonth', {
                price: perMonth(plan, period),
                small: (chunks) => <small>{chunks}</small>,
              })}
        </div>
        <Text size="sm" c="dimmed" mih="1.45em" mt={4}>
          {!isFree(plan) &&
            (period === 'monthly'
              ? t('plan.card.billedMonthly', {
                  price: formatMoney(plan.monthly_price_cents * 12, plan.currency),
                })
              : t(saving > 0 ? 'plan.card.billedYearlySaving' : 'plan.card.billedYearly', {
                  price: formatMoney(plan.yearly_price_cents, plan.currency),
                  saving,
                }))}
        </Text>
      </div>
      <ul className={classes.limits}>
        {metersOf(plan.limits).map((meter) => {
          const limit = plan.limits[meter] ?? null;
          return (
            <li key={meter}>
              <CheckIcon size={18} />
              {limit === null
                ? t(`meters.unlimited.${meter}`)
                : t(`meters.perDay.${meter}`, { count: limit })}
            </li>
          );
        })}
        {typeof plan.limits.tokens === 'number' && (
          <li>
            <CheckIcon size={18} />
            {t('plan.card.tokensPerDay', { count: plan.limits.tokens })}
          </li>
        )}
        <li>
          <CheckIcon size={18} />
          {t('plan.card.requestsPerMinute', { count: plan.requests_per_minute })}
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
          {isAsPaid
            ? t('plan.card.own')
            : isOwn
              ? t(`plan.switch.action.${period}`)
              : t('plan.change.action', { plan: plan.name })}
        </Button>
      )}
    </li>
  );
}
