/** A request log with filters: the account's log or, for operators, the log of any account. */

import { Button, Group, Text, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { type ReactNode, type RefObject, useRef, useState } from 'react';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { OlderButton } from '../../ui/older-button.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { countOf, type Filters, noFilters } from './filters.ts';
import { FiltersIcon, RefreshIcon } from './icons.tsx';
import type { KeyLabel } from './keys.ts';
import { RequestDetails } from './log-details.tsx';
import { LogFilters, LogFiltersDialog, useSeen } from './log-filters.tsx';
import { RequestCards, RequestTable } from './log-rows.tsx';
import { useIsNarrow } from './narrow.ts';
import type { Row } from './requests.ts';
import classes from './usage.module.css';

type Props = {
  query: UseInfiniteQueryResult<InfiniteData<{ data: Row[]; next_cursor: string | null }>>;
  filters: Filters;
  onFilter: (changes: Partial<Filters>) => void;
  keys: readonly KeyLabel[];
  heading?: RefObject<HTMLHeadingElement | null>;
  /** The currency of costs, for operators. */
  currency?: string | null;
  /** Actions beside the refresh button or, on narrow screens, beside the filter button. */
  actions?: ReactNode;
  /** The error of the last action. */
  problem?: Error | null;
};

export function LogView({ actions, currency, filters, heading, keys, onFilter, problem, query }: Props) {
  const isWide = useMediaQuery('(min-width: 80em)', undefined, { getInitialValueInEffect: false });
  const isNarrow = useIsNarrow();
  const log = useRef<HTMLElement>(null);
  const [shown, setShown] = useState<Row | null>(null);
  const [isFiltering, setIsFiltering] = useState(false);
  const isFiltered = countOf(filters) > 0;
  const isRefreshing = query.isRefetching && !query.isFetchingNextPage;
  const rows = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const fields = { filters, keys, seen: useSeen(filters, rows), onChange: onFilter };

  return (
    <section ref={log} tabIndex={-1} aria-labelledby="log" className={classes.section}>
      <Group justify="space-between" mb="sm">
        <Title order={2} id="log" ref={heading ?? null} tabIndex={-1}>
          {t('usage.log.title')}
        </Title>
        <Group gap="xs">
          <BusyButton
            size="xs"
            icon={<RefreshIcon size={16} />}
            isBusy={isRefreshing}
            onClick={() => query.refetch()}
          >
            {t('usage.log.refresh')}
          </BusyButton>
          {!isNarrow && actions}
        </Group>
      </Group>
      {isNarrow ? (
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            leftSection={<FiltersIcon size={16} />}
            onClick={() => setIsFiltering(true)}
          >
            {isFiltered
              ? t('usage.log.filters.titleWithCount', { count: countOf(filters) })
              : t('usage.log.filters.title')}
          </Button>
          {actions}
        </Group>
      ) : (
        <LogFilters {...fields} />
      )}
      {problem && <ProblemAlert error={problem} mt="md" />}
      <Text size="sm" c="dimmed" mt="xs" mb="md">
        {[
          t('usage.log.about'),
          filters.endpoint !== '' && t('usage.log.noEndpoint'),
          filters.model !== '' && t('usage.log.noModel'),
          t('usage.log.notLogged'),
        ]
          .filter((sentence) => sentence !== false)
          .join(' ')}
      </Text>
      <Loaded query={query}>
        {() =>
          rows.length === 0 ? (
            <EmptyState
              title={isFiltered ? t('usage.log.empty.noMatch') : t('usage.log.empty.none')}
              action={
                isFiltered && (
                  <Button variant="default" onClick={() => onFilter(noFilters)}>
                    {t('usage.log.empty.showAll')}
                  </Button>
                )
              }
            >
              {isFiltered
                ? filters.id === ''
                  ? t('usage.log.empty.noMatchText')
                  : t('usage.log.empty.noSuchId')
                : t('usage.log.empty.noneText')}
            </EmptyState>
          ) : isWide ? (
            <RequestTable rows={rows} keys={keys} onShow={setShown} />
          ) : (
            <RequestCards rows={rows} keys={keys} onShow={setShown} />
          )
        }
      </Loaded>
      {query.isFetchNextPageError && <ProblemAlert error={query.error} mt="md" />}
      {query.hasNextPage && (
        <Group justify="center" mt="md">
          <OlderButton list={log} isBusy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            {t('usage.log.older')}
          </OlderButton>
        </Group>
      )}
      {isFiltering && <LogFiltersDialog {...fields} onClose={() => setIsFiltering(false)} />}
      {shown && (
        <RequestDetails row={shown} keys={keys} currency={currency ?? null} onClose={() => setShown(null)} />
      )}
    </section>
  );
}
