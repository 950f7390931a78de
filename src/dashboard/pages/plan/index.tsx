import { Alert, Group, SegmentedControl, Text } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { useService } from '../../api/queries.ts';
import { usePlans, useSubscription } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { InfoIcon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { StatusMessage } from '../../ui/status-message.tsx';
import { Operator } from '../auth/operator.tsx';
import { ChangePlan } from './change.tsx';
import classes from './plan.module.css';
import { PlanCard } from './plan-card.tsx';
import { type Period, savingOf } from './prices.ts';

type Plan = Schemas['Plan'];

export default function PlanPage() {
  const plans = usePlans();
  const subscription = useSubscription();
  return (
    <>
      <PageHeader title={t('plan.title')}>{t('plan.about')}</PageHeader>
      <Loaded query={plans}>
        {({ data }) => (
          <Loaded query={subscription}>{(current) => <Plans plans={data} current={current} />}</Loaded>
        )}
      </Loaded>
    </>
  );
}

function Plans({ current, plans }: { plans: Plan[]; current: Schemas['Subscription'] }) {
  const [period, setPeriod] = useState<Period>(current.billing_period);
  const [wanted, setWanted] = useState<Plan | null>(null);
  const [status, setStatus] = useState<string>();
  const savings = plans.map(savingOf);
  const most = Math.max(...savings);
  const own = plans.findIndex(({ id }) => id === current.plan);
  return (
    <>
      {!current.self_serve && <Managed />}
      <StatusMessage message={status} onClose={() => setStatus(undefined)} />
      <Group mb="lg" gap="md">
        <SegmentedControl
          aria-label={t('plan.billingPeriod')}
          data={[
            { value: 'monthly', label: t('plan.monthly') },
            { value: 'yearly', label: t('plan.yearly') },
          ]}
          value={period}
          onChange={(value) => setPeriod(value as Period)}
        />
        {most > 0 && (
          <Text size="sm" c="dimmed">
            {savings.every((saving) => saving === most || saving === 0)
              ? t('plan.saving', { saving: most })
              : t('plan.savingUpTo', { saving: most })}
          </Text>
        )}
      </Group>
      <ul className={classes.plans}>
        {plans.map((plan, index) => (
          <PlanCard
            key={plan.id}
            plan={plan}
            period={period}
            current={current}
            // Most visitors want the next larger plan.
            isMain={index === own + 1}
            onChange={current.self_serve ? () => setWanted(plan) : undefined}
          />
        ))}
      </ul>
      {wanted && (
        <ChangePlan
          plan={wanted}
          period={period}
          current={current}
          currentName={plans[own]?.name ?? current.plan}
          onClose={() => setWanted(null)}
          onDone={(outcome) => {
            setWanted(null);
            setStatus(outcome);
          }}
        />
      )}
    </>
  );
}

function Managed() {
  const contact = useService().data?.operator_contact ?? null;
  return (
    <Alert variant="light" icon={<InfoIcon />} mb="lg" title={t('plan.managed.title')}>
      <Text size="sm" c="var(--mantine-color-text)">
        {contact === null
          ? t('plan.managed.text')
          : t.rich('plan.managed.textContact', { contact: () => <Operator contact={contact} /> })}
      </Text>
    </Alert>
  );
}
