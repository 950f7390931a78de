import { Button, Group, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { DownloadIcon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { When } from '../../ui/when.tsx';
import { forOperators, OperatorPage } from './frame.tsx';
import classes from './operator.module.css';

const sentences: Record<Schemas['OperatorAction'], string> = {
  accountCreated: 'Created account',
  accountSuspended: 'Suspended account',
  accountResumed: 'Resumed account',
  accountDeleted: 'Deleted account',
  planChanged: 'Changed plan',
  passwordReset: 'Reset password',
  keyRevoked: 'Revoked key',
};

export default forOperators(function LogPage() {
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
      title="Operator log"
      about="What operators changed, here and with the parley command, the newest first. Kept for a year."
      action={
        <Button
          component="a"
          href="/api/v1/operator/log/export"
          download
          variant="default"
          leftSection={<DownloadIcon size={16} />}
        >
          Export as JSON Lines
        </Button>
      }
    >
      <Panel title="Changes">
        <Loaded query={query}>
          {({ pages }) => {
            const rows = pages.flatMap(({ data }) => data);
            return rows.length === 0 ? (
              <Text c="dimmed">No operator has changed anything yet.</Text>
            ) : (
              <ul className={classes.list}>
                {rows.map((row) => (
                  <li key={row.id}>
                    <div className={classes.what}>
                      <Text fw={550}>
                        {sentences[row.action] ?? row.action}: {row.account_email}
                      </Text>
                      {row.detail !== null && <Text size="sm">{row.detail}</Text>}
                      <Text size="sm" c="dimmed">
                        {row.operator_email === null
                          ? 'on the command line'
                          : `by ${row.operator_email} from ${row.address}`}
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
              Show older changes
            </BusyButton>
          </Group>
        )}
      </Panel>
    </OperatorPage>
  );
});
