import { Anchor } from '@mantine/core';
import { Link } from 'wouter';
import { t } from '../../texts/language.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { History } from './history.tsx';
import { RequestLog } from './log.tsx';
import { Today } from './today.tsx';

export default function UsagePage() {
  return (
    <>
      <PageHeader title={t('usage.title')}>
        {t.rich('usage.about', {
          plan: (chunks) => (
            <Anchor component={Link} href="/plan" underline="always" inherit>
              {chunks}
            </Anchor>
          ),
        })}
      </PageHeader>
      <Today />
      <History />
      <RequestLog />
    </>
  );
}
