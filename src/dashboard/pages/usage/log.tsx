import { keepPreviousData, useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useLocation, useSearch } from 'wouter';
import { api, ok } from '../../api/client.ts';
import { useUsage } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { DownloadIcon } from '../../ui/icons.tsx';
import { exportRequests, type Format, formats } from './export.ts';
import { daysOf, type Filters, filtersOf, pathOf, queryOf } from './filters.ts';
import type { KeyLabel } from './keys.ts';
import { useLogLink } from './log-link.tsx';
import { LogView } from './log-view.tsx';
import { useIsNarrow } from './narrow.ts';

const useRequests = (filters: Filters) =>
  useInfiniteQuery({
    queryKey: ['requests', filters],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor, signal }) => {
      const query = { limit: 50, ...(cursor !== '' && { cursor }), ...queryOf(filters) };
      return ok(api.GET('/api/v1/requests', { params: { query }, signal }));
    },
    getNextPageParam: ({ next_cursor }) => next_cursor,
    // Keeps the height of the page while a filter is applied.
    placeholderData: keepPreviousData,
  });

export function RequestLog({ keys }: { keys: readonly KeyLabel[] }) {
  const search = useSearch();
  const [, navigate] = useLocation();
  const filters = filtersOf(search);
  const query = useRequests(filters);
  const isNarrow = useIsNarrow();
  const save = useMutation({ mutationFn: (format: Format) => exportRequests(filters, format) });
  const heading = useRef<HTMLHeadingElement>(null);

  // Wait until the content above the log has loaded or failed. A bookmark can also contain #log.
  const link = useLogLink();
  const { isFetched: isUsageSettled } = useUsage();
  const isSettled = isUsageSettled && query.isFetched && !query.isPlaceholderData;
  useEffect(() => {
    if (!isSettled || location.hash !== '#log' || search === '') return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView();
  }, [search, isSettled, link]);

  const filter = (changes: Partial<Filters>) =>
    navigate(pathOf({ ...filters, ...changes }, '/usage', daysOf(search)), { replace: true });

  return (
    <LogView
      query={query}
      filters={filters}
      onFilter={filter}
      keys={keys}
      heading={heading}
      problem={save.error}
      actions={formats.map((format) => (
        <BusyButton
          key={format}
          size="xs"
          icon={<DownloadIcon size={16} />}
          isBusy={save.isPending && save.variables === format}
          aria-label={t(`usage.log.export.${format}`)}
          onClick={() => save.mutate(format)}
        >
          {isNarrow ? format.toUpperCase() : t(`usage.log.export.${format}`)}
        </BusyButton>
      ))}
    />
  );
}
