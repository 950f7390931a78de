/** A key's requests today, or on another day that the reader chooses. Its height is the same while it loads. */
import { useState } from 'react';
import { t } from '../../texts/language.ts';
import { shortDay } from '../../ui/daily-bars.tsx';
import { formatCount, listOf } from '../../ui/numbers.ts';
import type { ApiKey } from './keys.ts';
import { DAYS, type DayOfKey, useUsageOfKeys } from './usage.ts';
import classes from './your-api.module.css';

const HEIGHT = 24;
const BAR = 12;
/** The width of the slider's thumb in the stylesheet, so that a tap selects the bar below it. */
const STEP = 16;
const LEAST = 2;
const TODAY = DAYS - 1;

export function Used({ apiKey: { id, name } }: { apiKey: ApiKey }) {
  const { data: daysOf } = useUsageOfKeys();
  const [chosen, setChosen] = useState(TODAY);
  const days = daysOf?.(id);
  const shown = days?.[chosen];
  if (days === undefined || shown === undefined) return <div className={classes.used} />;
  const text = textOf(shown, chosen === TODAY);
  const units = unitsOf(shown);
  return (
    <div className={classes.used}>
      <div>{text}</div>
      <div className={classes.usedUnits}>{units}</div>
      <div className={classes.usedDays}>
        <Bars days={days} chosen={chosen} />
        <input
          type="range"
          min={0}
          max={TODAY}
          value={chosen}
          onChange={(event) => setChosen(event.currentTarget.valueAsNumber)}
          aria-label={t('keys.used.chart', { name, count: DAYS })}
          aria-valuetext={[text, units].filter((part) => part !== '').join('. ')}
        />
      </div>
    </div>
  );
}

function Bars({ chosen, days }: { days: readonly DayOfKey[]; chosen: number }) {
  const most = Math.max(1, ...days.map(({ requests }) => requests ?? 0));
  return (
    <svg aria-hidden="true" width={days.length * STEP} height={HEIGHT}>
      {days.map(({ day, requests }, at) => {
        const height = Math.max(LEAST, ((requests ?? 0) / most) * HEIGHT);
        return (
          <rect
            key={day}
            x={at * STEP + (STEP - BAR) / 2}
            y={HEIGHT - height}
            width={BAR}
            height={height}
            rx={1}
            data-chosen={at === chosen || undefined}
          />
        );
      })}
    </svg>
  );
}

function textOf({ day: date, requests: count }: DayOfKey, isToday: boolean): string {
  const day = isToday ? t('keys.used.today') : shortDay(date);
  return count === null ? t('keys.used.unknown', { day }) : t('keys.used.requests', { day, count });
}

function unitsOf({ used }: DayOfKey): string {
  if (used.length === 0) return '';
  const meters = used.map(({ count, meter }) => `${t(`meters.label.${meter}`)} ${formatCount(count)}`);
  return t('keys.used.units', { meters: listOf(meters) });
}
