import { Anchor, Badge, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { api, ok, type Schemas } from '../../api/client.ts';
import { meterNames } from '../../api/usage.ts';
import { type TextKey, t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { formatCost, formatCount, formatMs } from '../../ui/numbers.ts';
import { Panel } from '../../ui/panel.tsx';
import { When } from '../../ui/when.tsx';
import { RefreshIcon } from '../usage/icons.tsx';
import { accountPath, refusalsPath } from './account-path.ts';
import { OperatorPage } from './frame.tsx';
import classes from './operator.module.css';

type Overview = Schemas['OperatorOverview'];

const REFRESH_MS = 15_000;

export default function OverviewPage() {
  const query = useQuery({
    queryKey: ['operator', 'overview'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/operator/overview', { signal })),
    refetchInterval: REFRESH_MS,
  });
  return (
    <OperatorPage
      title={t('operator.overview.title')}
      about={t('operator.overview.about')}
      action={
        <BusyButton
          size="xs"
          icon={<RefreshIcon size={16} />}
          isBusy={query.isRefetching}
          onClick={() => query.refetch()}
        >
          {t('usage.log.refresh')}
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
}

const Tile = ({ children, label }: { label: string; children: ReactNode }) => (
  <Paper withBorder p="md" bg="var(--parley-panel)">
    <Text size="sm" c="dimmed">
      {label}
    </Text>
    <div className={classes.figure}>{children}</div>
  </Paper>
);

const labelOf = (meter: string): string =>
  t(`meters.label.${meterNames.find((name) => name === meter) ?? 'tokens'}`);

const Now = ({
  overview: { accounts, excess_tokens = 0, meters: load, open_charges, replicas },
}: {
  overview: Overview;
}) => (
  <section aria-label={t('operator.now.title')}>
    <div className={classes.tiles}>
      <Tile label={t('operator.now.replicas')}>{formatCount(replicas)}</Tile>
      <Tile label={t('operator.now.inProgress')}>{formatCount(open_charges)}</Tile>
      <Tile label={t('operator.now.accounts')}>{formatCount(accounts.total)}</Tile>
      <Tile label={t('operator.now.suspended')}>{formatCount(accounts.suspended)}</Tile>
      {load
        .filter(({ used }) => used > 0)
        .map(({ accounts: count, meter, used }) => (
          <Tile key={meter} label={t('operator.now.today', { meter: labelOf(meter) })}>
            {formatCount(used)}
            <Text size="sm" c="dimmed" fw={400}>
              {t('operator.now.byAccounts', { count })}
            </Text>
          </Tile>
        ))}
      {excess_tokens > 0 && <Tile label={t('operator.excessTokens')}>{formatCount(excess_tokens)}</Tile>}
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
    <Panel title={t('operator.refusals.title')} description={t('operator.refusals.about')}>
      {refusals.length === 0 ? (
        <Nothing>{t('operator.refusals.none')}</Nothing>
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
                <span>{t('operator.refusals.from', { count, accounts })}</span>
              </li>
            ))}
          </ul>
          <ul className={classes.list} aria-label={t('operator.refusals.accounts')}>
            {refused_accounts.map(({ code, count, email, id, last_at }) => (
              <li key={`${id} ${code}`}>
                <span className={classes.what}>
                  <AccountLink email={email} to={refusalsPath(id)} />
                </span>
                <span>
                  {t.rich('operator.refusals.last', { count, code, when: () => <When at={last_at} /> })}
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
  <Panel title={t('operator.slow.title')} description={t('operator.slow.about')}>
    {rows.length === 0 ? (
      <Nothing>{t('operator.slow.none')}</Nothing>
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
              {first_output_ms === null
                ? formatMs(latency_ms)
                : t('operator.slow.took', {
                    took: formatMs(latency_ms),
                    firstOutput: formatMs(first_output_ms),
                  })}
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
  <Panel title={t('operator.busiest.title')} description={t('operator.busiest.about')}>
    {rows.length === 0 ? (
      <Nothing>{t('operator.busiest.none')}</Nothing>
    ) : (
      <ul className={classes.list}>
        {rows.map(({ email, id, used }) => (
          <li key={id}>
            <span className={classes.what}>
              <AccountLink email={email} to={accountPath(id)} />
            </span>
            <span>{t('operator.busiest.units', { count: used })}</span>
          </li>
        ))}
      </ul>
    )}
  </Panel>
);

const stateOf = ({ ready_in_ms, state }: Schemas['UpstreamTarget']): { text: string; color: string } => {
  if (state === 'coolingDown')
    return { text: t('operator.upstreams.coolingDown', { left: formatMs(ready_in_ms) }), color: 'red' };
  if (state === 'coolingDownForAccount')
    return { text: t('operator.upstreams.coolingDownForAccount'), color: 'yellow' };
  return state === 'probing'
    ? { text: t('operator.upstreams.probing'), color: 'yellow' }
    : { text: t('operator.upstreams.working'), color: 'green' };
};

const Upstreams = ({ overview: { costs, currency, upstreams } }: { overview: Overview }) => (
  <Panel title={t('operator.upstreams.title')} description={t('operator.upstreams.about')}>
    <ul className={classes.list}>
      {upstreams.map(({ attempts, concurrency, failures, kind, name, open, targets }) => (
        <li key={name}>
          <div className={classes.what}>
            <Text fw={550}>
              {name} ({kind})
            </Text>
            <Text size="sm" c="dimmed">
              {[
                t('operator.upstreams.inProgress', { open, concurrency }),
                t('operator.upstreams.failed', { failures, attempts }),
                ...costs.flatMap(({ cost_micros, upstream }) =>
                  currency !== null && upstream === name
                    ? [t('operator.upstreams.cost', { cost: formatCost(cost_micros, currency) })]
                    : [],
                ),
              ].join(' · ')}
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

/** The service can add jobs that this page does not know. */
function jobText(name: string): string {
  const key = `operator.jobs.names.${name}` as Extract<TextKey, `operator.jobs.names.${string}`>;
  return t.has(key) ? t(key) : name;
}

const Jobs = ({ rows }: { rows: Overview['jobs'] }) => (
  <Panel title={t('operator.jobs.title')} description={t('operator.jobs.about')}>
    {rows.length === 0 ? (
      <Nothing>{t('operator.jobs.none')}</Nothing>
    ) : (
      <ul className={classes.list}>
        {rows.map(({ ended_at, error, name, took_ms }) => (
          <li key={name}>
            <div className={classes.what}>
              {jobText(name)}
              {error !== null && (
                <Text size="sm" c="var(--parley-danger)">
                  {t('operator.jobs.failed', { error })}
                </Text>
              )}
            </div>
            <Text size="sm" c="dimmed">
              {formatMs(took_ms)}, <When at={ended_at} />
            </Text>
          </li>
        ))}
      </ul>
    )}
  </Panel>
);
