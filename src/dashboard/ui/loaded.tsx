import { Skeleton, Stack, VisuallyHidden } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { unreachable } from '../api/errors.ts';
import { t } from '../texts/language.ts';
import { focusHeading } from './focus.ts';
import { ProblemAlert } from './problem.tsx';

type Props<T> = {
  query: UseQueryResult<T>;
  loading?: ReactNode;
  children: (data: T) => ReactNode;
};

/** Shows a query's data. If a refetch fails, shows the error above the earlier data. */
export function Loaded<T>({ query, loading = <LoadingLines />, children }: Props<T>) {
  const { data, error, fetchStatus, isRefetchError } = query;
  const [alertId, retry] = useRetry(query);
  if (data === undefined) {
    if (error) return <ProblemAlert id={alertId} error={error} onRetry={retry} />;
    // The device is offline, so the request has not been sent.
    if (fetchStatus === 'paused') return <ProblemAlert error={unreachable(undefined)} />;
    return loading;
  }
  return (
    <>
      {isRefetchError && <ProblemAlert id={alertId} error={error} onRetry={retry} mb="md" />}
      {children(data)}
    </>
  );
}

/** Moves the focus when the loaded data replaces "Try again". */
function useRetry({ isFetching, refetch }: UseQueryResult): [string, () => void] {
  const alertId = useId();
  const isRetrying = useRef(false);
  useEffect(() => {
    if (isFetching || !isRetrying.current) return;
    isRetrying.current = false;
    // Keep the focus if the user has moved it.
    if (document.activeElement !== document.body) return;
    const again = document.getElementById(alertId)?.querySelector('button');
    if (again) again.focus();
    else focusHeading();
  }, [alertId, isFetching]);
  const retry = () => {
    isRetrying.current = true;
    void refetch();
  };
  return [alertId, retry];
}

export function LoadingLines({ lines = 3 }: { lines?: number }) {
  return (
    <Stack gap="sm" role="status">
      <VisuallyHidden>{t('ui.loading')}</VisuallyHidden>
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} height={44} />
      ))}
    </Stack>
  );
}

export function LoadingPage() {
  return (
    <Stack gap="lg">
      <Skeleton height={32} width={220} />
      <LoadingLines />
    </Stack>
  );
}
