import { Alert, Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Usage } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { InfoIcon } from '../../ui/icons.tsx';
import { Reset } from '../../ui/reset.tsx';

export const remainingOf = ({ limits, used }: Usage): number | null =>
  limits.chat === null ? null : Math.max(0, limits.chat - used.chat);

export function QuotaLine({ usage }: { usage: Usage }) {
  const left = remainingOf(usage);
  return (
    <Text size="xs" c="dimmed">
      {left === null
        ? t('chat.quota.unlimited', { count: usage.used.chat })
        : t('chat.quota.left', { left, limit: usage.limits.chat ?? 0 })}
    </Text>
  );
}

export const plansLink = (chunks: ReactNode) => (
  <Anchor component={Link} href="/plan" underline="always" c="inherit" inherit>
    {chunks}
  </Anchor>
);

export function OutOfQuota({ usage }: { usage: Usage }) {
  const limit = usage.limits.chat ?? 0;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<InfoIcon />}
      title={limit === 0 ? t('chat.quota.notIncluded') : t('chat.quota.usedUp')}
      mb="sm"
      role="status"
    >
      <Text size="sm" c="var(--mantine-color-text)">
        {limit > 0 && (
          <>
            {t('chat.quota.usedAll', { limit })} <Reset at={usage.resetsAt} />{' '}
          </>
        )}
        {t.rich('chat.quota.higherDaily', { plans: plansLink })}
      </Text>
    </Alert>
  );
}
