import {
  ActionIcon,
  Group,
  NativeSelect,
  Paper,
  SegmentedControl,
  Skeleton,
  Stack,
  Text,
  Title,
  VisuallyHidden,
} from '@mantine/core';
import { useEffect, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { meterNames, useUsage } from '../../api/usage.ts';
import { t } from '../../texts/language.ts';
import { type Bar, DailyBars, shortDay, utcDay } from '../../ui/daily-bars.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { formatCount } from '../../ui/numbers.ts';
import { type Days, dayChoices, daysOf, filtersOf, pathOf } from './filters.ts';
import { NextIcon, PreviousIcon } from './icons.tsx';
import { type DayUsage, type KeyLabel, keyChoices, keyName, lastDays, type useHistory } from './keys.ts';
import { LogLink, useLogLink } from './log-link.tsx';
import classes from './usage.module.css';

const counted = [...meterNames, 'tokens'] as const;
type Counted = (typeof counted)[number];

const amount = (count: number, meter: Counted): string => t(`usage.history.count.${meter}`, { count });

export function History({ query }: { query: ReturnType<typeof useHistory> }) {
  const { data: usage } = useUsage();
  const [meter, setMeter] = useState<Counted>('chat');
  // A link to one key's log also shows the bars of that key.
  const search = useSearch();
  const { key_id: linked } = filtersOf(search);
  const link = useLogLink();
  const [key, setKey] = useState(linked);
  useEffect(() => setKey(linked), [linked]);
  useEffect(() => {
    if (link !== null) setKey(linked);
  }, [link, linked]);
  const days = daysOf(search);

  return (
    <section aria-labelledby="history" className={classes.section}>
      <Group justify="space-between" mb="sm">
        <Title order={2} id="history">
          {t('usage.history.title')}
        </Title>
        <DaysControl search={search} days={days} />
      </Group>
      <Loaded query={query} loading={<Loading />}>
        {({ data: all, keys }) => {
          const data = lastDays(all, days);
          if (data.every(({ used }) => used === 0))
            return (
              <EmptyState title={t('usage.history.empty.title', { days })}>
                {t('usage.history.empty.text')}
              </EmptyState>
            );
          const rows = data.filter((row) => row.meter === meter);
          const limit = usage?.limits[meter] ?? null;
          return (
            <Paper withBorder p="md" bg="var(--parley-panel)">
              <div className={classes.filters}>
                <SegmentedControl
                  data={counted
                    .filter((value) => data.some((row) => row.meter === value))
                    .map((value) => ({ value, label: t(`meters.label.${value}`) }))}
                  value={meter}
                  onChange={(value) => setMeter(value as Counted)}
                  fullWidth
                  classNames={{
                    root: classes.meters ?? '',
                    control: classes.meter ?? '',
                    label: classes.meterLabel ?? '',
                  }}
                  aria-label={t('usage.history.type')}
                />
                <NativeSelect
                  aria-label={t('usage.history.key')}
                  data={keyChoices(keys, key)}
                  value={key}
                  onChange={(event) => setKey(event.currentTarget.value)}
                />
              </div>
              <Chart
                rows={rows}
                days={days}
                of={key}
                limit={key === '' ? limit : null}
                meter={meter}
                keys={keys}
              />
              <Shares rows={rows} days={days} keys={keys} meter={meter} />
            </Paper>
          );
        }}
      </Loaded>
    </section>
  );
}

function DaysControl({ days, search }: { days: Days; search: string }) {
  const [, navigate] = useLocation();
  return (
    <SegmentedControl
      size="xs"
      data={dayChoices.map((count) => ({ value: String(count), label: t('usage.history.days', { count }) }))}
      value={String(days)}
      onChange={(value) =>
        navigate(pathOf(filtersOf(search), '/usage', daysOf(`days=${value}`)), { replace: true })
      }
      aria-label={t('usage.history.period')}
    />
  );
}

/** A placeholder as high as the chart and the text below it, so that the log does not move. */
const Loading = () => (
  <div role="status">
    <VisuallyHidden>{t('ui.loading')}</VisuallyHidden>
    <Skeleton className={classes.historyLoading ?? ''} />
  </div>
);

/** Looks disabled, but keeps the focus. */
const offAt = (isEnd: boolean) => ({ 'aria-disabled': isEnd, 'data-disabled': isEnd });

type ChartProps = {
  rows: readonly DayUsage[];
  days: Days;
  of: string;
  limit: number | null;
  meter: Counted;
  keys: readonly KeyLabel[];
};

function Chart({ days, keys, limit, meter, of, rows }: ChartProps) {
  const usedIn = ({ by_key, used }: DayUsage) =>
    of === '' ? used : (by_key.find(({ key_id }) => (key_id ?? 'web') === of)?.used ?? 0);
  const bars: Bar[] = rows.map((row) => ({ day: row.day, count: usedIn(row) }));
  const today = rows.at(-1)?.day ?? '';
  const [chosen, setChosen] = useState('');
  const place = Math.max(
    0,
    bars.findIndex(({ day }) => day === chosen),
  );
  const index = bars[place]?.day === chosen ? place : bars.length - 1;
  const shown = rows[index];
  if (shown === undefined) return null;
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  const step = (by: number) => setChosen(bars[index + by]?.day ?? chosen);
  const shares = shown.by_key.map(({ key_id, used }) => `${keyName(key_id, keys)} ${formatCount(used)}`);

  return (
    <Stack gap={0} mt="md">
      <DailyBars
        bars={bars}
        limit={limit}
        selected={shown.day}
        onSelect={setChosen}
        label={t('usage.history.chart', { amount: amount(total, meter), days })}
      />
      <div className={classes.detail}>
        <ActionIcon
          variant="default"
          size={36}
          aria-label={t('usage.history.previousDay')}
          {...offAt(index === 0)}
          onClick={() => step(-1)}
        >
          <PreviousIcon />
        </ActionIcon>
        <div role="status">
          <Text size="sm" fw={600}>
            {t(shown.day === today ? 'usage.history.today' : 'usage.history.day', {
              day: shortDay(shown.day),
              amount: amount(usedIn(shown), meter),
            })}
          </Text>
          {of === '' && shares.length > 0 && (
            <Text size="sm" c="dimmed" className={classes.name ?? ''}>
              {shares.join(' · ')}
            </Text>
          )}
        </div>
        <ActionIcon
          variant="default"
          size={36}
          aria-label={t('usage.history.nextDay')}
          {...offAt(index === bars.length - 1)}
          onClick={() => step(1)}
        >
          <NextIcon />
        </ActionIcon>
      </div>
      {limit !== null && (
        <Text size="xs" c="dimmed" mt="xs">
          {t('usage.history.limit')}
        </Text>
      )}
      <details className={classes.table}>
        <summary>{t('usage.history.table.show')}</summary>
        <table>
          <caption>{t('usage.history.table.caption')}</caption>
          <thead>
            <tr>
              <th scope="col">{t('usage.history.table.day')}</th>
              <th scope="col">{t(`usage.history.units.${meter}`)}</th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map(({ count, day }) => (
              <tr key={day}>
                <th scope="row">{utcDay(day)}</th>
                <td>{formatCount(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </Stack>
  );
}

type SharesProps = Pick<ChartProps, 'rows' | 'days' | 'keys' | 'meter'>;

function Shares({ days, keys, meter, rows }: SharesProps) {
  const sums = new Map<string | null, number>();
  for (const { by_key } of rows)
    for (const { key_id, used } of by_key) sums.set(key_id, (sums.get(key_id) ?? 0) + used);
  const sorted = [...sums].filter(([, used]) => used > 0).sort(([, one], [, other]) => other - one);
  if (sorted.length === 0) return null;
  return (
    <>
      <Title order={3} size="h5" mt="lg" mb="xs">
        {t('usage.history.byKey', { days })}
      </Title>
      <ul className={classes.shares}>
        {sorted.map(([id, used]) => (
          <li key={id ?? 'web'}>
            <span className={classes.name}>
              {keyName(id, keys)}
              {keys.some((key) => key.id === id && !key.active) && (
                <Text span c="dimmed" size="sm">
                  {' '}
                  {t('usage.keys.noLongerActive')}
                </Text>
              )}
            </span>
            <span>{amount(used, meter)}</span>
            <LogLink keyId={id ?? 'web'} days={days} />
          </li>
        ))}
      </ul>
    </>
  );
}
