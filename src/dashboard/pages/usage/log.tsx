/** The request log: what was charged, what was refused, filtered, page by page. */
import { Button, Group, NativeSelect, Text, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { api, ok } from '../../api/client.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { DownloadIcon, RefreshIcon } from './icons.tsx';
import { keyChoices, useHistory } from './keys.ts';
import { RequestDetails } from './log-details.tsx';
import { RequestCards, RequestTable } from './log-rows.tsx';
import { endpoints, type Row, statuses, toCsv } from './requests.ts';
import classes from './usage.module.css';

/** Named as the API names them: it refuses an address with `key` in its query, where no key belongs. */
type Filters = { key_id: string; endpoint: string; status: string };

const filtersOf = (search: string): Filters => {
  const query = new URLSearchParams(search);
  const of = (name: string) => query.get(name) ?? '';
  return { key_id: of('key_id'), endpoint: of('endpoint'), status: of('status') };
};

const useRequests = (filters: Filters) =>
  useInfiniteQuery({
    queryKey: ['requests', filters],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor, signal }) => {
      const { endpoint, key_id, status } = filters;
      const query = {
        ...(cursor !== '' && { cursor }),
        ...(key_id !== '' && { key_id }),
        ...(endpoint !== '' && { endpoint }),
        ...(status !== '' && { status }),
      };
      return ok(api.GET('/api/v1/requests', { params: { query: { limit: 50, ...query } }, signal }));
    },
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });

function download(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `parley-requests-${new Date().toISOString().slice(0, 10)}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function RequestLog() {
  const search = useSearch();
  const [, navigate] = useLocation();
  const filters = filtersOf(search);
  const query = useRequests(filters);
  const { data: history } = useHistory();
  const keys = history?.keys ?? [];
  const isWide = useMediaQuery('(min-width: 62em)', undefined, { getInitialValueInEffect: false });
  const [shown, setShown] = useState<Row | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);

  // Links to the log of one key lead here.
  useEffect(() => {
    if (location.hash === '#log') heading.current?.focus();
  }, [search]);

  const filter = (changes: Partial<Filters>) => {
    const next = Object.entries({ ...filters, ...changes }).filter(([, value]) => value !== '');
    navigate(next.length === 0 ? '/usage' : `/usage?${new URLSearchParams(next)}`, { replace: true });
  };
  const isFiltered = Object.values(filters).some((value) => value !== '');
  const rows = query.data?.pages.flatMap(({ data }) => data) ?? [];

  return (
    <section aria-labelledby="log" className={classes.section}>
      <Group justify="space-between" mb="sm">
        <Title order={2} id="log" ref={heading} tabIndex={-1}>
          Requests
        </Title>
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            leftSection={<RefreshIcon size={16} />}
            loading={query.isRefetching && !query.isFetchingNextPage}
            onClick={() => query.refetch()}
          >
            Refresh
          </Button>
          <Button
            size="xs"
            variant="default"
            leftSection={<DownloadIcon size={16} />}
            disabled={rows.length === 0}
            onClick={() => download(toCsv(rows, keys))}
          >
            CSV of these {rows.length}
          </Button>
        </Group>
      </Group>
      <div className={classes.filters}>
        <NativeSelect
          label="Made by"
          data={keyChoices(keys, filters.key_id)}
          value={filters.key_id}
          onChange={(event) => filter({ key_id: event.currentTarget.value })}
        />
        <NativeSelect
          label="Endpoint"
          data={[{ value: '', label: 'Any endpoint' }, ...endpoints]}
          value={filters.endpoint}
          onChange={(event) => filter({ endpoint: event.currentTarget.value })}
        />
        <NativeSelect
          label="Status"
          data={statuses}
          value={filters.status}
          onChange={(event) => filter({ status: event.currentTarget.value })}
        />
      </div>
      <Text size="sm" c="dimmed" mt="xs" mb="md">
        Newest first, times in UTC. Refused requests are one row for each minute, key and code
        {filters.endpoint === '' ? '.' : '; they are counted without their endpoint, so none are shown here.'}
      </Text>
      <Loaded query={query}>
        {() =>
          rows.length === 0 ? (
            <EmptyState
              title={isFiltered ? 'No such request' : 'No requests yet'}
              action={
                isFiltered && (
                  <Button variant="default" onClick={() => filter({ key_id: '', endpoint: '', status: '' })}>
                    Show all requests
                  </Button>
                )
              }
            >
              {isFiltered
                ? 'Nothing in the log fits these filters.'
                : 'What you ask in the chat or with an API key is listed here.'}
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
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            Show older requests
          </Button>
        </Group>
      )}
      {shown && <RequestDetails row={shown} keys={keys} onClose={() => setShown(null)} />}
    </section>
  );
}
