import { Alert, Button, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { isEndOfSession, isFinal, type Problem } from '../../api/errors.ts';
import { t } from '../../texts/language.ts';
import { InfoIcon } from '../../ui/icons.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { localReset } from '../../ui/reset.tsx';
import { plansLink } from './quota.tsx';

type Props = {
  /** Null if the user stopped the question before it was sent. */
  problem: Problem | null;
  /** Whether part of the reply arrived. */
  isAnswered: boolean;
  isClosed: boolean;
  onRetry: () => void;
};

export function Failed({ isAnswered, isClosed, onRetry, problem }: Props) {
  if (problem === null)
    return <Waiting onRetry={isClosed ? undefined : onRetry}>{t('chat.failed.stoppedUnsent')}</Waiting>;
  // Without `Retry-After`, waiting for the reset does not help.
  if (problem.code === 'quotaExceeded' && problem.retryAfter === null)
    return (
      <Waiting onRetry={isClosed ? undefined : onRetry}>
        {problem.limit?.ceiling === 0
          ? t.rich('chat.failed.notIncluded', { plans: plansLink })
          : t.rich('chat.failed.quotaOfADay', { plans: plansLink })}
      </Waiting>
    );
  if (problem.code === 'quotaExceeded')
    return (
      <Waiting onRetry={isClosed ? undefined : onRetry}>
        {problem.limit
          ? t('chat.failed.quotaUntil', { localTime: localReset(problem.limit.resetsAt) })
          : t('chat.failed.quota')}
      </Waiting>
    );
  if (problem.code === 'rateLimitExceeded' && problem.limit)
    return (
      <Waiting onRetry={onRetry}>
        {t('chat.failed.rateLimit', { count: problem.limit.ceiling })}{' '}
        <Countdown until={problem.limit.resetsAt} /> {t.rich('chat.failed.higherLimit', { plans: plansLink })}
      </Waiting>
    );
  if (isEndOfSession(problem) && isAnswered)
    return (
      <Waiting onRetry={onRetry}>
        {t('chat.failed.sessionEndedLater')} {t('chat.failed.notChargedAgain')}
      </Waiting>
    );
  if (isEndOfSession(problem))
    return (
      <Waiting onRetry={isClosed ? undefined : onRetry}>
        {t('chat.failed.sessionEnded')} {t('chat.failed.notChargedAgain')}
      </Waiting>
    );
  // The message says that nothing was charged. If the quota is used up, another attempt cannot help.
  if (problem.requestId !== null && !problem.isCharged)
    return <ProblemAlert error={problem} mt="sm" {...(!isClosed && { onRetry })} />;
  return (
    <>
      <ProblemAlert error={problem} onRetry={onRetry} mt="sm" />
      <Text size="xs" c="dimmed" mt={4}>
        {isFinal(problem) ? t('chat.failed.chargedAgain') : t('chat.failed.notChargedAgain')}
      </Text>
    </>
  );
}

const Waiting = ({ children, onRetry }: { children: ReactNode; onRetry: (() => void) | undefined }) => (
  <Alert color="yellow" variant="light" icon={<InfoIcon />} role="alert">
    <Text size="sm" c="var(--mantine-color-text)">
      {children}
    </Text>
    {onRetry && (
      <Button size="xs" variant="default" mt="sm" onClick={onRetry}>
        {t('ui.tryAgain')}
      </Button>
    )}
  </Alert>
);

const TICK_MS = 1000;
/** Windows last a minute. The cap applies if the device's clock is wrong. */
const MAX_SECONDS = 60;

/** Screen readers read the alert once. The countdown is not announced. */
function Countdown({ until }: { until: string }) {
  const [now, setNow] = useState(Date.now);
  const seconds = Math.min(MAX_SECONDS, Math.ceil((Date.parse(until) - now) / 1000));
  const isOver = seconds <= 0;
  useEffect(() => {
    if (isOver) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isOver]);
  return (
    <span aria-live="off">{isOver ? t('chat.failed.now') : t('chat.failed.inSeconds', { seconds })}</span>
  );
}
