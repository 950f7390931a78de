/** What a key used today, and on each of the last days. */
import { t } from '../../texts/language.ts';
import { shortDay } from '../../ui/daily-bars.tsx';
import { formatCount } from '../../ui/numbers.ts';
import type { ApiKey } from './keys.ts';
import { DAYS, type DayOfKey, useUsageOfKeys } from './usage.ts';
import classes from './your-api.module.css';

const HEIGHT = 20;
const BAR = 7;
const STEP = 9;
const LEAST = 2;

export function Used({ apiKey: { id, last_used_at: lastUsedAt, name } }: { apiKey: ApiKey }) {
  const { data: usage } = useUsageOfKeys();
  // As high as what most likely follows.
  if (usage === undefined)
    return (
      <div className={classes.used}>
        <div>{'\u00a0'}</div>
        {wasUsedLately(lastUsedAt) && <svg height={HEIGHT} aria-hidden="true" />}
      </div>
    );
  const days = usage.get(id);
  const today = days?.at(-1)?.used ?? [];
  return (
    <div className={classes.used}>
      <div>
        {today.length === 0 ? (
          <div>{t('keys.used.none')}</div>
        ) : (
          today.map((one) => <Today key={one.meter} {...one} />)
        )}
      </div>
      {days && (
        <Bars
          days={days}
          label={t('keys.used.chart', {
            name,
            count: days.length,
            days: days.map(ofDay).join('; '),
          })}
        />
      )}
    </div>
  );
}

const Today = ({ count, meter }: DayOfKey['used'][number]) => (
  <div>{t(`keys.used.today.${meter}`, { count })}</div>
);

function Bars({ days, label }: { days: readonly DayOfKey[]; label: string }) {
  const most = Math.max(...days.map(({ total }) => total));
  return (
    <svg role="img" aria-label={label} width={days.length * STEP} height={HEIGHT}>
      {days.map((day, at) => {
        const height = Math.max(LEAST, (day.total / most) * HEIGHT);
        return (
          <rect key={day.day} x={at * STEP} y={HEIGHT - height} width={BAR} height={height} rx={1}>
            <title>{ofDay(day)}</title>
          </rect>
        );
      })}
    </svg>
  );
}

const wasUsedLately = (at: string | null): boolean =>
  at !== null && Date.now() - Date.parse(at) < DAYS * 86_400_000;

const ofDay = ({ day, total }: DayOfKey): string => `${shortDay(day)}: ${formatCount(total)}`;
