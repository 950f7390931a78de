import { Anchor } from '@mantine/core';
import { Link } from 'wouter';
import { t } from '../../texts/language.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { History } from './history.tsx';
import { useHistory } from './keys.ts';
import { RequestLog } from './log.tsx';
import { Today } from './today.tsx';

export default function UsagePage() {
  const history = useHistory();
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
      <History query={history} />
      {/* Wait, or loading history would move the log. One query for both, so they never differ. */}
      {!history.isPending && <RequestLog keys={history.data?.keys ?? []} />}
    </>
  );
}
