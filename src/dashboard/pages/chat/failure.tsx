import { Alert, Anchor, Button, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { isFinal, type Problem } from '../../api/errors.ts';
import { InfoIcon } from '../../ui/icons.tsx';
import { countOf } from '../../ui/numbers.ts';
import { ProblemAlert } from '../../ui/problem.tsx';
import { localReset } from '../../ui/reset.tsx';

type Props = {
  problem: Problem;
  isClosed: boolean;
  onRetry: () => void;
};

export function Failed({ isClosed, onRetry, problem }: Props) {
  if (problem.code === 'quotaExceeded')
    return (
      <Waiting onRetry={isClosed ? undefined : onRetry}>
        You have used all of today's replies. Nothing was charged. Try again after 00:00 UTC
        {problem.limit && ` (${localReset(problem.limit.resetsAt)})`}.
      </Waiting>
    );
  if (problem.code === 'rateLimitExceeded' && problem.limit)
    return (
      <Waiting onRetry={onRetry}>
        Your plan allows {countOf(problem.limit.ceiling, { one: 'request', many: 'requests' })} a minute
        across the web and the API, and you have reached that limit. Nothing was charged.{' '}
        <Countdown until={problem.limit.resetsAt} /> For a higher limit, <PlansLink />.
      </Waiting>
    );
  // Another attempt would need a reply, and none is left.
  if (isClosed && problem.requestId !== null && !problem.isCharged)
    return <ProblemAlert error={problem} mt="sm" />;
  return (
    <>
      <ProblemAlert error={problem} onRetry={onRetry} mt="sm" />
      <Text size="xs" c="dimmed" mt={4}>
        {isFinal(problem)
          ? 'Trying again sends a new request, which is charged separately.'
          : 'You will not be charged twice if you try again.'}
      </Text>
    </>
  );
}

const PlansLink = () => (
  <Anchor component={Link} href="/plan" underline="always" c="inherit" inherit>
    compare plans
  </Anchor>
);

const Waiting = ({ children, onRetry }: { children: ReactNode; onRetry: (() => void) | undefined }) => (
  <Alert color="yellow" variant="light" icon={<InfoIcon />} role="alert">
    <Text size="sm" c="var(--mantine-color-text)">
      {children}
    </Text>
    {onRetry && (
      <Button size="xs" variant="default" mt="sm" onClick={onRetry}>
        Try again
      </Button>
    )}
  </Alert>
);

const TICK_MS = 1000;
/** Windows last a minute. This caps the countdown if the device's clock is wrong. */
const LONGEST_SECONDS = 60;

/** Not announced every second: screen readers already read the alert. */
function Countdown({ until }: { until: string }) {
  const [now, setNow] = useState(Date.now);
  const seconds = Math.min(LONGEST_SECONDS, Math.ceil((Date.parse(until) - now) / 1000));
  const isOver = seconds <= 0;
  useEffect(() => {
    if (isOver) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isOver]);
  return (
    <span aria-live="off">{isOver ? 'You can try again now.' : `You can try again in ${seconds} s.`}</span>
  );
}
