import { Anchor, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, useLocation, useParams, useSearch } from 'wouter';
import { api, ok, type Schemas } from '../../api/client.ts';
import { useAccount } from '../../api/queries.ts';
import { meters, metersOf } from '../../api/usage.ts';
import { CopyField } from '../../ui/copy-field.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { formatCost, formatCount } from '../../ui/numbers.ts';
import { Panel } from '../../ui/panel.tsx';
import { exactTime } from '../../ui/when.tsx';
import { type Filters, filtersOf, pathOf, queryOf } from '../usage/filters.ts';
import { LogView } from '../usage/log-view.tsx';
import { accountPath } from './account-path.ts';
import { type Act, ActDialog, RevokeKeyDialog } from './acts.tsx';
import { forOperators, OperatorPage } from './frame.tsx';
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

export default forOperators(function AccountPage() {
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
    <OperatorPage title={query.data?.email ?? 'Account'} about="An account, as operators see it.">
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
});

function Facts({ account }: { account: Details }) {
  const { data: self } = useAccount();
  const [, navigate] = useLocation();
  const [act, setAct] = useState<Act>();
  const { active_keys, billing_period, created_at, id, open_sessions, plan, suspended_at, usage } = account;
  const { excess_tokens = 0 } = account;
  const { tokens: tokensLimit } = usage.limits;
  const tokens = `${formatCount(usage.used.tokens)}${typeof tokensLimit === 'number' ? ` of ${formatCount(tokensLimit)}` : ''}`;
  const isSuspended = suspended_at !== null;
  const used = metersOf(usage.limits)
    .map((meter) => {
      const limit = usage.limits[meter];
      const most = limit === null || limit === undefined ? 'unlimited' : formatCount(limit);
      return `${meters[meter].label}: ${formatCount(usage.used[meter] ?? 0)} of ${most}`;
    })
    .join(', ');
  const facts: [string, ReactNode][] = [
    [
      'State',
      <Badge
        key="state"
        variant="light"
        tt="none"
        color={isSuspended ? 'red' : 'green'}
        c="var(--mantine-color-text)"
      >
        {isSuspended ? `Suspended ${exactTime(suspended_at)}` : 'Active'}
      </Badge>,
    ],
    ['Plan', `${plan}, billed ${billing_period}`],
    ['Used today', `${used}, tokens: ${tokens}`],
    ...(excess_tokens > 0
      ? [['Tokens beyond reservations', formatCount(excess_tokens)] as [string, ReactNode]]
      : []),
    ['Active keys', formatCount(active_keys)],
    ['Devices', formatCount(open_sessions)],
    ['Created', exactTime(created_at)],
    ['ID', <CopyField key="id" value={id} label="account ID" />],
  ];
  return (
    <Panel title="Account">
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
          Change plan
        </Button>
        <Button variant="default" size="sm" onClick={() => setAct('password')}>
          Reset password
        </Button>
        {id !== self?.id && (
          <>
            <Button variant="default" size="sm" onClick={() => setAct(isSuspended ? 'resume' : 'suspend')}>
              {isSuspended ? 'Resume account' : 'Suspend account'}
            </Button>
            <Button variant="default" size="sm" c="var(--parley-danger)" onClick={() => setAct('delete')}>
              Delete account
            </Button>
          </>
        )}
      </Group>
      {act && (
        <ActDialog
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
  <Panel title="Costs" description="What the account's tokens cost you in the last 30 days, by UTC day.">
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
    <Panel title="Keys" description="Of the last 90 days: active ones first.">
      {keys.length === 0 ? (
        <Text size="sm" c="dimmed">
          The account has no keys.
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
                  aria-label={`Revoke key ${key.name}`}
                  onClick={() => setRevoking(key)}
                >
                  Revoke key
                </Button>
              ) : (
                <Text size="sm" c="dimmed">
                  No longer active
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
