import { Button, Group, Text, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { api, ok } from '../../api/client.ts';
import { useUsage } from '../../api/usage.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { exportPathOf, type Filters, filtersOf, noFilters, pathOf, queryOf } from './filters.ts';
import { DownloadIcon, RefreshIcon } from './icons.tsx';
import { useHistory } from './keys.ts';
import { RequestDetails } from './log-details.tsx';
import { LogFilters } from './log-filters.tsx';
import { RequestCards, RequestTable } from './log-rows.tsx';
import type { Row } from './requests.ts';
import classes from './usage.module.css';

const useRequests = (filters: Filters) =>
  useInfiniteQuery({
    queryKey: ['requests', filters],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor, signal }) => {
      const query = { limit: 50, ...(cursor !== '' && { cursor }), ...queryOf(filters) };
      return ok(api.GET('/api/v1/requests', { params: { query }, signal }));
    },
    getNextPageParam: ({ next_cursor }) => next_cursor,
    // The page keeps its height while a filter is applied.
    placeholderData: keepPreviousData,
  });

export function RequestLog() {
  const search = useSearch();
  const [, navigate] = useLocation();
  const filters = filtersOf(search);
  const query = useRequests(filters);
  const { data: history } = useHistory();
  const keys = history?.keys ?? [];
  const isWide = useMediaQuery('(min-width: 75em)', undefined, { getInitialValueInEffect: false });
  const [shown, setShown] = useState<Row | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);

  // A link to the log of one key ends in #log. What is above it has to be there first.
  const { data: usage } = useUsage();
  const isSettled =
    usage !== undefined && history !== undefined && query.isFetched && !query.isPlaceholderData;
  useEffect(() => {
    if (!isSettled || location.hash !== '#log' || search === '') return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView();
  }, [search, isSettled]);

  const filter = (changes: Partial<Filters>) =>
    navigate(pathOf({ ...filters, ...changes }), { replace: true });
  const isFiltered = Object.values(filters).some((value) => value !== '');
  const isRefreshing = query.isRefetching && !query.isFetchingNextPage;
  const rows = query.data?.pages.flatMap(({ data }) => data) ?? [];

  return (
    <section aria-labelledby="log" className={classes.section}>
      <Group justify="space-between" mb="sm">
        <Title order={2} id="log" ref={heading} tabIndex={-1}>
          Requests
        </Title>
        <Group gap="xs">
          <BusyButton
            size="xs"
            icon={<RefreshIcon size={16} />}
            isBusy={isRefreshing}
            onClick={() => query.refetch()}
          >
            Refresh
          </BusyButton>
          {(['csv', 'json'] as const).map((format) => (
            <Button
              key={format}
              component="a"
              href={exportPathOf(filters, format)}
              download
              size="xs"
              variant="default"
              leftSection={<DownloadIcon size={16} />}
            >
              {format.toUpperCase()}
            </Button>
          ))}
        </Group>
      </Group>
      <LogFilters filters={filters} keys={keys} onChange={filter} />
      <Text size="sm" c="dimmed" mt="xs" mb="md">
        Newest first. Times are in UTC. Refused requests are grouped by minute, key, and code.
        {filters.endpoint !== '' && ' They are recorded without an endpoint, so this filter hides them.'}
        {filters.model !== '' && ' They have no model, so this filter hides them.'}
      </Text>
      <Loaded query={query}>
        {() =>
          rows.length === 0 ? (
            <EmptyState
              title={isFiltered ? 'No matching requests' : 'No requests yet'}
              action={
                isFiltered && (
                  <Button variant="default" onClick={() => filter(noFilters)}>
                    Show all requests
                  </Button>
                )
              }
            >
              {isFiltered
                ? filters.id === ''
                  ? 'No requests match these filters.'
                  : 'No charged request has this ID. IDs of refused requests are not stored.'
                : 'Requests from chat and API keys appear here.'}
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
          <BusyButton isBusy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            Show older requests
          </BusyButton>
        </Group>
      )}
      {shown && <RequestDetails row={shown} keys={keys} onClose={() => setShown(null)} />}
    </section>
  );
}
