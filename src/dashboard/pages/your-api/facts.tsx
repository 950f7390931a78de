import { Text } from '@mantine/core';
import { t } from '../../texts/language.ts';
import { dayOf, exactTime, When } from '../../ui/when.tsx';
import { LogLink } from '../usage/log-link.tsx';
import { type ApiKey, idleDays } from './keys.ts';
import classes from './your-api.module.css';

const SOON_MS = 7 * 86_400_000;

type Props = { apiKey: ApiKey };

export const Scopes = ({ apiKey }: Props) => (
  <ul className={classes.scopes} aria-label={t('keys.list.scopes')}>
    {apiKey.scopes.map((scope) => (
      <li key={scope}>{scope}</li>
    ))}
  </ul>
);

export function Origins({ apiKey: { allowed_origins: origins } }: Props) {
  if (origins.length === 0) return t('keys.list.serversOnly');
  return t.rich('keys.list.originAndMore', {
    origin: origins[0]?.replace('https://', '') ?? '',
    more: origins.length - 1,
    span: (chunks) => (
      <span className={classes.origin} title={origins.join('\n')}>
        {chunks}
      </span>
    ),
  });
}

export const Created = ({ apiKey }: Props) => (
  <time dateTime={apiKey.created_at} title={exactTime(apiKey.created_at)}>
    {dayOf(apiKey.created_at)}
  </time>
);

export function LastUsed({ apiKey }: Props) {
  const days = idleDays(apiKey);
  return (
    <>
      {apiKey.last_used_at === null ? t('keys.list.neverUsed') : <When at={apiKey.last_used_at} />}
      {days !== null && (
        <Text className={classes.warning ?? ''} title={t('keys.list.idleAdvice')}>
          {t('keys.list.idle', { days })}
        </Text>
      )}
    </>
  );
}

export const RequestsLink = ({ apiKey: { id, name } }: Props) => (
  <LogLink keyId={id} label={t('keys.list.requestsOf', { name })} />
);

export function Expires({ apiKey: { expires_at: at } }: Props) {
  if (at === null) return t('keys.list.neverExpires');
  const isSoon = new Date(at).getTime() - Date.now() < SOON_MS;
  return isSoon ? (
    <Text className={classes.warning ?? ''} component="span">
      <When at={at} />
    </Text>
  ) : (
    <time dateTime={at} title={exactTime(at)}>
      {dayOf(at)}
    </time>
  );
}
