/** Expired and revoked keys, loaded on request. */

import { Group, Paper, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../texts/language.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { dayOf, exactTime } from '../../ui/when.tsx';
import { LastUsed, RequestsLink } from './facts.tsx';
import { type ApiKey, useInactiveKeys } from './keys.ts';
import classes from './your-api.module.css';

export function InactiveKeys() {
  const [isShown, setShown] = useState(false);
  return (
    <Stack gap="sm">
      <Switch
        label={t('keys.inactive.show')}
        checked={isShown}
        onChange={(event) => setShown(event.currentTarget.checked)}
      />
      {isShown && <List />}
    </Stack>
  );
}

function List() {
  const query = useInactiveKeys();
  return (
    <Loaded query={query}>
      {(keys) =>
        keys.length === 0 ? (
          <Text c="dimmed">{t('keys.inactive.none')}</Text>
        ) : (
          <Paper
            withBorder
            component="ul"
            aria-label={t('keys.inactive.title')}
            className={classes.inactive ?? ''}
          >
            {keys.map((apiKey) => (
              <li key={apiKey.id}>
                <Inactive apiKey={apiKey} />
              </li>
            ))}
          </Paper>
        )
      }
    </Loaded>
  );
}

const Inactive = ({ apiKey }: { apiKey: ApiKey }) => (
  <Group justify="space-between" gap="xs">
    <div>
      <Text fw={600} className={classes.name ?? ''}>
        {apiKey.name}
      </Text>
      <code className={classes.prefix}>{apiKey.key_prefix}…</code>
    </div>
    <div className={classes.ended}>
      <div>
        <End apiKey={apiKey} />
      </div>
      <Text size="sm" c="dimmed" component="div">
        {t.rich('keys.inactive.lastUsed', { when: () => <LastUsed apiKey={apiKey} /> })}
      </Text>
      <RequestsLink apiKey={apiKey} />
    </div>
  </Group>
);

/** A key can both expire and be revoked. Shows whichever happened first. */
function End({ apiKey: { expires_at: expiresAt, revoked_at: revokedAt = null } }: { apiKey: ApiKey }) {
  const isExpired = expiresAt !== null && (revokedAt === null || expiresAt < revokedAt);
  const at = isExpired ? expiresAt : revokedAt;
  if (at === null) return null;
  return t.rich(isExpired ? 'keys.inactive.expired' : 'keys.inactive.revoked', {
    day: () => (
      <time dateTime={at} title={exactTime(at)}>
        {dayOf(at)}
      </time>
    ),
  });
}
