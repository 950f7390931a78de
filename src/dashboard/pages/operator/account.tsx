import { Anchor, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, useLocation, useParams, useSearch } from 'wouter';
import { api, ok, type Schemas } from '../../api/client.ts';
import { useAccount } from '../../api/queries.ts';
import { metersOf } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { CopyField } from '../../ui/copy-field.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { formatCost, formatCount, listOf } from '../../ui/numbers.ts';
import { Panel } from '../../ui/panel.tsx';
import { exactTime } from '../../ui/when.tsx';
import { type Filters, filtersOf, pathOf, queryOf } from '../usage/filters.ts';
import { LogView } from '../usage/log-view.tsx';
import { type AccountAction, ActionDialog, RevokeKeyDialog } from './account-actions.tsx';
import { accountPath } from './account-path.ts';
import { OperatorPage } from './frame.tsx';
import classes from './operator.module.css';

type Details = Schemas['OperatorAccountDetails'];

const useRequests = (id: string, filters: Filters) =>
  useInfiniteQuery({
    queryKey: ['operator', 'requests', id, filters],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor, signal }) => {
      const { id: request_id, ...others } = queryOf(filters);
      const query = {
        ...{ limit: 50, ...others },
        ...(cursor !== '' && { cursor }),
        ...(request_id !== undefined && { request_id }),
      };
      const params = { path: { id }, query };
      return ok(api.GET('/api/v1/operator/accounts/{id}/requests', { params, signal }));
    },
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: keepPreviousData,
  });

export default function AccountPage() {
  const { id = '' } = useParams();
  const search = useSearch();
  const [, navigate] = useLocation();
  const filters = filtersOf(search);
  const query = useQuery({
    queryKey: ['operator', 'account', id],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/v1/operator/accounts/{id}', { params: { path: { id } }, signal })),
  });
  const requests = useRequests(id, filters);
  const filter = (changes: Partial<Filters>) =>
    navigate(pathOf({ ...filters, ...changes }, accountPath(id)), { replace: true });
  return (
    <OperatorPage
      title={query.data?.email ?? t('operator.account.title')}
      about={t('operator.account.about')}
    >
      <Loaded query={query}>
        {(account) => (
          <Stack gap="lg">
            <Facts account={account} />
            {account.currency !== null && account.costs.length > 0 && (
              <Costs costs={account.costs} currency={account.currency} />
            )}
            <Keys accountId={id} keys={account.keys} />
            <LogView
              query={requests}
              filters={filters}
              onFilter={filter}
              keys={account.keys}
              currency={account.currency}
            />
          </Stack>
        )}
      </Loaded>
    </OperatorPage>
  );
}

function Facts({ account }: { account: Details }) {
  const { data: self } = useAccount();
  const [, navigate] = useLocation();
  const [act, setAct] = useState<AccountAction>();
  const { active_keys, billing_period, created_at, id, open_sessions, plan, suspended_at, usage } = account;
  const { excess_tokens = 0 } = account;
  const isSuspended = suspended_at !== null;
  const used = metersOf(usage.limits).map((meter) => {
    const limit = usage.limits[meter];
    const values = { meter: t(`meters.label.${meter}`), used: usage.used[meter] ?? 0 };
    return limit === null || limit === undefined
      ? t('operator.account.usedUnlimited', values)
      : t('operator.account.usedOf', { ...values, limit });
  });
  const facts: [string, ReactNode][] = [
    [
      t('operator.account.state'),
      <Badge
        key="state"
        variant="light"
        tt="none"
        color={isSuspended ? 'red' : 'green'}
        c="var(--mantine-color-text)"
        classNames={{ root: classes.state ?? '', label: classes.stateLabel ?? '' }}
      >
        {isSuspended
          ? t('operator.account.suspendedAt', { time: exactTime(suspended_at) })
          : t('operator.account.active')}
      </Badge>,
    ],
    [t('operator.plan'), t(`plan.billed.${billing_period}`, { plan })],
    [
      t('operator.account.usedToday'),
      listOf([
        ...used,
        typeof usage.limits.tokens === 'number'
          ? t('operator.account.tokensOf', { used: usage.used.tokens, limit: usage.limits.tokens })
          : t('operator.account.tokens', { used: usage.used.tokens }),
      ]),
    ],
    ...(excess_tokens > 0
      ? [[t('operator.excessTokens'), formatCount(excess_tokens)] as [string, ReactNode]]
      : []),
    [t('operator.account.activeKeys'), formatCount(active_keys)],
    [t('operator.account.devices'), formatCount(open_sessions)],
    [t('operator.account.created'), exactTime(created_at)],
    [t('operator.account.id'), <CopyField key="id" value={id} label={t('operator.account.copyId')} />],
  ];
  return (
    <Panel title={t('operator.account.title')}>
      <dl className={classes.facts}>
        {facts.map(([name, fact]) => (
          <Group key={name} display="contents">
            <dt>{name}</dt>
            <dd>{fact}</dd>
          </Group>
        ))}
      </dl>
      <Group mt="md" gap="xs">
        <Button variant="default" size="sm" onClick={() => setAct('plan')}>
          {t('operator.changePlan.action')}
        </Button>
        <Button variant="default" size="sm" onClick={() => setAct('password')}>
          {t('operator.reset.action')}
        </Button>
        {id !== self?.id && (
          <>
            <Button variant="default" size="sm" onClick={() => setAct(isSuspended ? 'resume' : 'suspend')}>
              {isSuspended ? t('operator.resume.action') : t('operator.suspend.action')}
            </Button>
            <Button variant="default" size="sm" c="var(--parley-danger)" onClick={() => setAct('delete')}>
              {t('operator.delete.action')}
            </Button>
          </>
        )}
      </Group>
      {act && (
        <ActionDialog
          account={account}
          act={act}
          onClose={() => setAct(undefined)}
          onDeleted={() => navigate('/operator/accounts')}
        />
      )}
    </Panel>
  );
}

const Costs = ({ costs, currency }: { costs: Details['costs']; currency: string }) => (
  <Panel title={t('operator.costs.title')} description={t('operator.costs.about')}>
    <ul className={classes.list}>
      {costs.map(({ cost_micros, day, upstream }) => (
        <li key={`${day} ${upstream}`}>
          <span className={classes.what}>
            {day}, {upstream}
          </span>
          <span>{formatCost(cost_micros, currency)}</span>
        </li>
      ))}
    </ul>
  </Panel>
);

function Keys({ accountId, keys }: { accountId: string; keys: Details['keys'] }) {
  const [revoking, setRevoking] = useState<Details['keys'][number]>();
  return (
    <Panel title={t('operator.keys.title')} description={t('operator.keys.about')}>
      {keys.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('operator.keys.none')}
        </Text>
      ) : (
        <ul className={classes.list}>
          {keys.map((key) => (
            <li key={key.id}>
              <div className={classes.what}>
                <Anchor
                  component={Link}
                  href={accountPath(accountId, `?key_id=${key.id}`)}
                  underline="always"
                >
                  {key.name}
                </Anchor>
                <Text size="sm" c="dimmed">
                  {key.key_prefix}…
                </Text>
              </div>
              {key.active ? (
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t('operator.keys.revokeKey', { name: key.name })}
                  onClick={() => setRevoking(key)}
                >
                  {t('operator.keys.revoke')}
                </Button>
              ) : (
                <Text size="sm" c="dimmed">
                  {t('operator.keys.noLongerActive')}
                </Text>
              )}
            </li>
          ))}
        </ul>
      )}
      {revoking && <RevokeKeyDialog apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </Panel>
  );
}
