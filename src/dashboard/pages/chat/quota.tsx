import { Alert, Anchor, Text } from '@mantine/core';
import { Link } from 'wouter';
import { meters, type Usage } from '../../api/usage.ts';
import { InfoIcon } from '../../ui/icons.tsx';
import { countOf, formatCount } from '../../ui/numbers.ts';
import { Reset } from '../../ui/reset.tsx';

export const leftOf = ({ limits, used }: Usage): number | null =>
  limits.chat === null ? null : Math.max(0, limits.chat - used.chat);

export function QuotaLine({ usage }: { usage: Usage }) {
  const left = leftOf(usage);
  return (
    <Text size="xs" c="dimmed">
      {left === null
        ? `${countOf(usage.used.chat, meters.chat)} used today. No daily limit.`
        : `${formatCount(left)} of ${countOf(usage.limits.chat ?? 0, meters.chat)} left today, across the web and the API.`}
    </Text>
  );
}

export function OutOfQuota({ usage }: { usage: Usage }) {
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<InfoIcon />}
      title="Today's replies are used up"
      mb="sm"
      role="status"
    >
      <Text size="sm" c="var(--mantine-color-text)">
        You have used all {formatCount(usage.limits.chat ?? 0)} of today's replies across the web and the API.
        Usage resets <Reset at={usage.resetsAt} />. For a higher daily limit,{' '}
        <Anchor component={Link} href="/plan" underline="always" c="inherit" inherit>
          compare plans
        </Anchor>
        .
      </Text>
    </Alert>
  );
}
