import { Group, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { detailText } from '../../ui/detail.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { When } from '../../ui/when.tsx';
import { eventSentence } from './event-sentences.ts';
import classes from './settings.module.css';
import { deviceName } from './user-agent.ts';

const PAGE = 10;
/** Events that a leak report causes, by anyone. */
const afterReports: ReadonlySet<string> = new Set(['keyReportedLeaked', 'publicKeyReported']);

type Event = { type: string; address: string | null; user_agent: string | null };

const sourceOf = ({ address, type, user_agent: userAgent }: Event): string => {
  if (afterReports.has(type)) return t('settings.events.byReport');
  return address === null ? t('settings.events.byOperator') : `${deviceName(userAgent ?? '')} · ${address}`;
};

export function EventsPanel() {
  const query = useInfiniteQuery({
    queryKey: ['events'],
    queryFn: ({ pageParam, signal }) =>
      ok(
        api.GET('/api/v1/events', {
          signal,
          params: { query: { limit: PAGE, ...(pageParam !== null && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor: next }) => next,
  });
  return (
    <Panel title={t('settings.events.title')} description={t('settings.events.about')}>
      <Loaded query={query}>
        {({ pages }) => (
          <>
            <ul className={classes.list}>
              {pages
                .flatMap(({ data }) => data)
                .map((event) => (
                  <li key={event.id}>
                    <div className={classes.what}>
                      <Text fw={550}>{eventSentence(event)}</Text>
                      {event.detail !== null && <Text size="sm">{detailText(event.type, event.detail)}</Text>}
                      <Text size="sm" c="dimmed" title={event.user_agent ?? ''}>
                        {sourceOf(event)}
                      </Text>
                    </div>
                    <Text size="sm" c="dimmed" className={classes.at ?? ''}>
                      <When at={event.at} />
                    </Text>
                  </li>
                ))}
            </ul>
            {query.isFetchNextPageError && <ProblemAlert error={query.error} mt="md" />}
            {query.hasNextPage && (
              <Group mt="md">
                <BusyButton isBusy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
                  {t('settings.events.more')}
                </BusyButton>
              </Group>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}
