import { Alert, Group, SegmentedControl, Text } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { useService } from '../../api/queries.ts';
import { usePlans, useSubscription } from '../../api/usage.ts';
import { focusHeading } from '../../ui/focus.ts';
import { InfoIcon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
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
      <PageHeader title="Plan">
        Your plan sets the daily limits that web chat and all API keys share.
      </PageHeader>
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
  const [done, setDone] = useState('');
  const savings = plans.map(savingOf);
  const most = Math.max(...savings);
  const own = plans.findIndex(({ id }) => id === current.plan);
  return (
    <>
      {!current.self_serve && <Managed />}
      <div role="status">
        {done !== '' && (
          <Alert
            color="green"
            variant="light"
            mb="md"
            withCloseButton
            closeButtonLabel="Close"
            onClose={() => {
              setDone('');
              focusHeading();
            }}
          >
            <Text size="sm" c="var(--mantine-color-text)">
              {done}
            </Text>
          </Alert>
        )}
      </div>
      <Group mb="lg" gap="md">
        <SegmentedControl
          aria-label="Billing period"
          data={[
            { value: 'monthly', label: 'Monthly' },
            { value: 'yearly', label: 'Yearly' },
          ]}
          value={period}
          onChange={(value) => setPeriod(value as Period)}
        />
        {most > 0 && (
          <Text size="sm" c="dimmed">
            {savings.every((saving) => saving === most || saving === 0)
              ? `Save ${most}% with yearly billing.`
              : `Save up to ${most}% with yearly billing.`}
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
            // Most people come here for the next larger plan.
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
          onDone={(said) => {
            setWanted(null);
            setDone(said);
          }}
        />
      )}
    </>
  );
}

function Managed() {
  const { data: service } = useService();
  return (
    <Alert variant="light" icon={<InfoIcon />} mb="lg" title="Only the operator can change plans">
      <Text size="sm" c="var(--mantine-color-text)">
        To change yours, contact{' '}
        {service?.operator_contact ? (
          <Operator contact={service.operator_contact} />
        ) : (
          'the operator of this service'
        )}
        . Include the plan and billing period that you want.
      </Text>
    </Alert>
  );
}
