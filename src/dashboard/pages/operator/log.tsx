import { Button, Group, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { detailText } from '../../ui/detail.ts';
import { DownloadIcon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { When } from '../../ui/when.tsx';
import { OperatorPage } from './frame.tsx';
import classes from './operator.module.css';

/** The service can add actions that this page does not know. */
const sentenceOf = (action: Schemas['OperatorAction'], email: string): string =>
  t.has(`operator.log.actions.${action}`)
    ? t(`operator.log.actions.${action}`, { email })
    : `${action}: ${email}`;

export default function LogPage() {
  const query = useInfiniteQuery({
    queryKey: ['operator', 'log'],
    queryFn: ({ pageParam, signal }) =>
      ok(
        api.GET('/api/v1/operator/log', {
          signal,
          params: { query: { ...(pageParam !== null && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor: next }) => next,
  });
  return (
    <OperatorPage
      title={t('operator.log.title')}
      about={t('operator.log.about')}
      action={
        <Button
          component="a"
          href="/api/v1/operator/log/export"
          download
          variant="default"
          leftSection={<DownloadIcon size={16} />}
        >
          {t('operator.log.export')}
        </Button>
      }
    >
      <Panel title={t('operator.log.changes')}>
        <Loaded query={query}>
          {({ pages }) => {
            const rows = pages.flatMap(({ data }) => data);
            return rows.length === 0 ? (
              <Text c="dimmed">{t('operator.log.none')}</Text>
            ) : (
              <ul className={classes.list}>
                {rows.map((row) => (
                  <li key={row.id}>
                    <div className={classes.what}>
                      <Text fw={550}>{sentenceOf(row.action, row.account_email)}</Text>
                      {row.detail !== null && <Text size="sm">{detailText(row.action, row.detail)}</Text>}
                      <Text size="sm" c="dimmed">
                        {row.operator_email === null
                          ? t('operator.log.onCommandLine')
                          : t('operator.log.by', {
                              email: row.operator_email,
                              address: row.address ?? '',
                            })}
                      </Text>
                    </div>
                    <Text size="sm" c="dimmed">
                      <When at={row.at} />
                    </Text>
                  </li>
                ))}
              </ul>
            );
          }}
        </Loaded>
        {query.isFetchNextPageError && <ProblemAlert error={query.error} mt="md" />}
        {query.hasNextPage && (
          <Group mt="md">
            <BusyButton isBusy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
              {t('operator.log.older')}
            </BusyButton>
          </Group>
        )}
      </Panel>
    </OperatorPage>
  );
}
