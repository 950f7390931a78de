import { Anchor, Badge, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { api, ok, type Schemas } from '../../api/client.ts';
import { meters } from '../../api/usage.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { countOf, formatCost, formatCount } from '../../ui/numbers.ts';
import { Panel } from '../../ui/panel.tsx';
import { When } from '../../ui/when.tsx';
import { RefreshIcon } from '../usage/icons.tsx';
import { msText } from '../usage/requests.ts';
import { accountPath, refusalsPath } from './account-path.ts';
import { forOperators, OperatorPage } from './frame.tsx';
import classes from './operator.module.css';

type Overview = Schemas['OperatorOverview'];

const REFRESH_MS = 15_000;

export default forOperators(function OverviewPage() {
  const query = useQuery({
    queryKey: ['operator', 'overview'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/operator/overview', { signal })),
    refetchInterval: REFRESH_MS,
  });
  return (
    <OperatorPage
      title="Operator"
      about="The load and the health of the service. Days start at 00:00 UTC."
      action={
        <BusyButton
          size="xs"
          icon={<RefreshIcon size={16} />}
          isBusy={query.isRefetching}
          onClick={() => query.refetch()}
        >
          Refresh
        </BusyButton>
      }
    >
      <Loaded query={query}>
        {(overview) => (
          <Stack gap="lg">
            <Now overview={overview} />
            <Refusals overview={overview} />
            <Slow rows={overview.slow_requests} />
            {overview.upstreams.length > 0 && <Upstreams overview={overview} />}
            <Busiest rows={overview.busiest_accounts} />
            <Jobs rows={overview.jobs} />
          </Stack>
        )}
      </Loaded>
    </OperatorPage>
  );
});

const Tile = ({ children, label }: { label: string; children: ReactNode }) => (
  <Paper withBorder p="md" bg="var(--parley-panel)">
    <Text size="sm" c="dimmed">
      {label}
    </Text>
    <div className={classes.figure}>{children}</div>
  </Paper>
);

const inAccounts = (count: number): string => countOf(count, { one: 'account', many: 'accounts' });

const labelOf = (meter: string): string =>
  meter in meters ? meters[meter as keyof typeof meters].label : 'Tokens';

const Now = ({
  overview: { accounts, excess_tokens = 0, meters: load, open_charges, replicas },
}: {
  overview: Overview;
}) => (
  <section aria-label="Now and today">
    <div className={classes.tiles}>
      <Tile label="Replicas">{formatCount(replicas)}</Tile>
      <Tile label="In progress">{formatCount(open_charges)}</Tile>
      <Tile label="Accounts">{formatCount(accounts.total)}</Tile>
      <Tile label="Suspended">{formatCount(accounts.suspended)}</Tile>
      {load
        .filter(({ used }) => used > 0)
        .map(({ accounts: count, meter, used }) => (
          <Tile key={meter} label={`${labelOf(meter)} today`}>
            {formatCount(used)}
            <Text size="sm" c="dimmed" fw={400}>
              {inAccounts(count)}
            </Text>
          </Tile>
        ))}
      {excess_tokens > 0 && <Tile label="Tokens beyond reservations">{formatCount(excess_tokens)}</Tile>}
    </div>
  </section>
);

const Nothing = ({ children }: { children: ReactNode }) => (
  <Text size="sm" c="dimmed">
    {children}
  </Text>
);

const AccountLink = ({ email, to }: { email: string; to: string }) => (
  <Anchor component={Link} href={to} underline="always">
    {email}
  </Anchor>
);

function Refusals({ overview: { refusals, refused_accounts } }: { overview: Overview }) {
  return (
    <Panel title="Refused requests" description="In the last hour, by cause and by account.">
      {refusals.length === 0 ? (
        <Nothing>No requests were refused.</Nothing>
      ) : (
        <Stack gap="md">
          <ul className={classes.list}>
            {refusals.map(({ accounts, code, count, status }) => (
              <li key={code}>
                <span className={classes.what}>
                  <Anchor href={`/docs/errors/${code}`} underline="always">
                    {status} {code}
                  </Anchor>
                </span>
                <span>
                  {formatCount(count)} from {inAccounts(accounts)}
                </span>
              </li>
            ))}
          </ul>
          <ul className={classes.list} aria-label="Accounts with the most refused requests">
            {refused_accounts.map(({ code, count, email, id, last_at }) => (
              <li key={`${id} ${code}`}>
                <span className={classes.what}>
                  <AccountLink email={email} to={refusalsPath(id)} />
                </span>
                <span>
                  {formatCount(count)} × {code}, last <When at={last_at} />
                </span>
              </li>
            ))}
          </ul>
        </Stack>
      )}
    </Panel>
  );
}

const Slow = ({ rows }: { rows: Overview['slow_requests'] }) => (
  <Panel title="Slow requests" description="The slowest of the last hour, from 5 seconds.">
    {rows.length === 0 ? (
      <Nothing>No request took so long.</Nothing>
    ) : (
      <ul className={classes.list}>
        {rows.map(({ account_id, at, email, endpoint, first_output_ms, id, latency_ms, model, upstream }) => (
          <li key={id}>
            <div className={classes.what}>
              <AccountLink email={email} to={accountPath(account_id, `?id=${id}`)} />
              <Text size="sm" c="dimmed">
                {[endpoint, model, upstream].filter((part) => part !== null).join(' · ')}
              </Text>
            </div>
            <div>
              {msText(latency_ms)}
              {first_output_ms !== null && `, first output after ${msText(first_output_ms)}`}
              {' · '}
              <When at={at} />
            </div>
          </li>
        ))}
      </ul>
    )}
  </Panel>
);

const Busiest = ({ rows }: { rows: Overview['busiest_accounts'] }) => (
  <Panel title="Busiest accounts" description="By chat units used today.">
    {rows.length === 0 ? (
      <Nothing>No account has used chat today.</Nothing>
    ) : (
      <ul className={classes.list}>
        {rows.map(({ email, id, used }) => (
          <li key={id}>
            <span className={classes.what}>
              <AccountLink email={email} to={accountPath(id)} />
            </span>
            <span>{countOf(used, { one: 'unit', many: 'units' })}</span>
          </li>
        ))}
      </ul>
    )}
  </Panel>
);

const stateOf = ({ ready_in_ms, state }: Schemas['UpstreamTarget']): { text: string; color: string } => {
  if (state === 'coolingDown') return { text: `Cooling down, ${msText(ready_in_ms)} left`, color: 'red' };
  if (state === 'coolingDownForAccount') return { text: 'Cooling down for one account', color: 'yellow' };
  return state === 'probing' ? { text: 'Probing', color: 'yellow' } : { text: 'Working', color: 'green' };
};

const Upstreams = ({ overview: { costs, currency, upstreams } }: { overview: Overview }) => (
  <Panel
    title="Upstreams"
    description="State and attempts as seen by the replica that answered; costs of all replicas."
  >
    <ul className={classes.list}>
      {upstreams.map(({ attempts, concurrency, failures, kind, name, open, targets }) => (
        <li key={name}>
          <div className={classes.what}>
            <Text fw={550}>
              {name} ({kind})
            </Text>
            <Text size="sm" c="dimmed">
              {formatCount(open)} of {formatCount(concurrency)} in progress · {formatCount(failures)} of{' '}
              {formatCount(attempts)} attempts failed
              {currency !== null &&
                costs
                  .filter(({ upstream }) => upstream === name)
                  .map(({ cost_micros }) => ` · ${formatCost(cost_micros, currency)} today`)}
            </Text>
          </div>
          <Stack gap={4}>
            {targets.map((target) => {
              const { color, text } = stateOf(target);
              return (
                <span key={target.model}>
                  {target.model}{' '}
                  <Badge variant="light" tt="none" color={color} c="var(--mantine-color-text)">
                    {text}
                  </Badge>
                </span>
              );
            })}
          </Stack>
        </li>
      ))}
    </ul>
  </Panel>
);

const Jobs = ({ rows }: { rows: Overview['jobs'] }) => (
  <Panel title="Background jobs" description="They run once an hour, on one of the replicas.">
    {rows.length === 0 ? (
      <Nothing>They have not run yet.</Nothing>
    ) : (
      <ul className={classes.list}>
        {rows.map(({ ended_at, error, name, took_ms }) => (
          <li key={name}>
            <div className={classes.what}>
              {name.charAt(0).toUpperCase() + name.slice(1)}
              {error !== null && (
                <Text size="sm" c="var(--parley-danger)">
                  Failed: {error}
                </Text>
              )}
            </div>
            <Text size="sm" c="dimmed">
              {msText(took_ms)}, <When at={ended_at} />
            </Text>
          </li>
        ))}
      </ul>
    )}
  </Panel>
);
