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
        Web chat and all API keys share one daily quota, set by your{' '}
        <Anchor component={Link} href="/plan" underline="always" inherit>
          plan
        </Anchor>
        . Days start at 00:00 UTC.
      </PageHeader>
      <Today />
      <History />
      <RequestLog />
    </>
  );
}
