import { Anchor, Badge, Button, Checkbox, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, ok, type Schemas } from '../../api/client.ts';
import { usePlans } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { When } from '../../ui/when.tsx';
import { accountPath } from './account-path.ts';
import { CreateAccountDialog } from './create-account.tsx';
import { OperatorPage } from './frame.tsx';
import classes from './operator.module.css';

const TYPING_MS = 300;

type Filter = { search: string; plan: string; isSuspended: boolean };

const useAccounts = ({ isSuspended, plan, search }: Filter) =>
  useInfiniteQuery({
    queryKey: ['operator', 'accounts', search, plan, isSuspended],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor, signal }) => {
      const query = {
        ...(cursor !== '' && { cursor }),
        ...(search !== '' && { search }),
        ...(plan !== '' && { plan }),
        ...(isSuspended && { suspended: 'true' as const }),
      };
      return ok(api.GET('/api/v1/operator/accounts', { params: { query }, signal }));
    },
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: keepPreviousData,
  });

export default function AccountsPage() {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed.trim(), TYPING_MS);
  const [plan, setPlan] = useState('');
  const [isSuspended, setSuspended] = useState(false);
  const [isCreating, setCreating] = useState(false);
  const { data: plans } = usePlans();
  const query = useAccounts({ search, plan, isSuspended });
  return (
    <OperatorPage
      title={t('operator.accounts.title')}
      about={t('operator.accounts.about')}
      action={<Button onClick={() => setCreating(true)}>{t('operator.create.action')}</Button>}
    >
      <div className={classes.search}>
        <TextInput
          type="search"
          label={t('operator.accounts.search')}
          autoComplete="off"
          spellCheck={false}
          maxLength={254}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <NativeSelect
          label={t('operator.plan')}
          data={[
            { value: '', label: t('operator.accounts.anyPlan') },
            ...(plans?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={plan}
          onChange={(event) => setPlan(event.currentTarget.value)}
        />
        <Checkbox
          label={t('operator.accounts.onlySuspended')}
          checked={isSuspended}
          onChange={(event) => setSuspended(event.currentTarget.checked)}
          mb={8}
        />
      </div>
      <Panel title={t('operator.accounts.found')}>
        <Loaded query={query}>
          {({ pages }) => {
            const rows = pages.flatMap(({ data }) => data);
            return rows.length === 0 ? (
              <Text c="dimmed">{t('operator.accounts.none')}</Text>
            ) : (
              <ul className={classes.list}>
                {rows.map((account) => (
                  <Row key={account.id} account={account} />
                ))}
              </ul>
            );
          }}
        </Loaded>
        {query.isFetchNextPageError && <ProblemAlert error={query.error} mt="md" />}
        {query.hasNextPage && (
          <Group mt="md">
            <BusyButton isBusy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
              {t('operator.accounts.older')}
            </BusyButton>
          </Group>
        )}
      </Panel>
      {isCreating && <CreateAccountDialog plans={plans?.data ?? []} onClose={() => setCreating(false)} />}
    </OperatorPage>
  );
}

const Row = ({
  account: { created_at, email, id, plan, suspended_at },
}: {
  account: Schemas['OperatorAccount'];
}) => (
  <li>
    <span className={classes.what}>
      <Anchor component={Link} href={accountPath(id)} underline="always">
        {email}
      </Anchor>{' '}
      {suspended_at !== null && (
        <Badge variant="light" color="red" tt="none" c="var(--mantine-color-text)">
          {t('operator.accounts.suspended')}
        </Badge>
      )}
    </span>
    <Text size="sm" c="dimmed">
      {t.rich('operator.accounts.created', { plan, when: () => <When at={created_at} /> })}
    </Text>
  </li>
);
