/** What is used today, what was used each day, and every request that was charged or refused. */
import { Anchor } from '@mantine/core';
import { Link } from 'wouter';
import { PageHeader } from '../../ui/page-header.tsx';
import { History } from './history.tsx';
import { RequestLog } from './log.tsx';
import { Today } from './today.tsx';

export default function UsagePage() {
  return (
    <>
      <PageHeader title="Usage">
        The web chat and all API keys draw on one daily quota, that of your{' '}
        <Anchor component={Link} href="/plan" underline="always" inherit>
          plan
        </Anchor>
        . Days are UTC days: each begins at 00:00 UTC.
      </PageHeader>
      <Today />
      <History />
      <RequestLog />
    </>
  );
}
