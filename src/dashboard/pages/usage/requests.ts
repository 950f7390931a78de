import type { Schemas } from '../../api/client.ts';
import { perLanguage, t } from '../../texts/language.ts';
import { formatCount, formatMs } from '../../ui/numbers.ts';
import { endpoints } from './endpoints.ts';

/** A row of the log. Operators also see the upstream and the cost. */
export type Row = Schemas['LoggedRequest'] &
  Partial<Pick<Schemas['OperatorLoggedRequest'], 'upstream' | 'upstream_model' | 'cost_micros'>>;

/** The endpoint of charges from a deleted account with the same email address on the same day. */
export const CARRIED_OVER = 'carriedOver';

/** Offers the filter for carried-over charges only to the few accounts that have them. */
export const endpointFilters = (isCarriedOver: boolean) => [
  { value: '', label: t('usage.log.filters.anyEndpoint') },
  ...endpoints.map((endpoint) => ({ value: endpoint, label: endpoint })),
  ...(isCarriedOver ? [{ value: CARRIED_OVER, label: t('usage.log.carriedOver') }] : []),
];

export const statuses = () => [
  { value: '', label: t('usage.log.filters.anyStatus') },
  ...(['2xx', '4xx', '403', '429', '5xx'] as const).map((value) => ({
    value,
    label: t(`usage.log.filters.statuses.${value}`),
  })),
];

const utc = (second?: '2-digit') =>
  perLanguage(
    (language) =>
      new Intl.DateTimeFormat(language, {
        day: 'numeric',
        month: 'short',
        hour: '2-digit',
        minute: '2-digit',
        ...(second && { second }),
        hourCycle: 'h23',
        timeZone: 'UTC',
      }),
  );
const utcSecond = utc('2-digit');
const utcMinute = utc();

/** "Nov 20, 17:42:07". Refusals are counted by minute, so they have no seconds. */
export const utcTime = ({ at, kind }: Pick<Row, 'at' | 'kind'>): string =>
  (kind === 'refusals' ? utcMinute() : utcSecond()).format(new Date(at));

export const isCall = ({ endpoint }: Row): boolean => endpoint !== null && endpoint !== CARRIED_OVER;

export function endpointLabel({ count, endpoint, kind }: Row): string {
  if (endpoint === CARRIED_OVER) return t('usage.log.carriedOver');
  if (kind === 'refusals') return t('usage.log.refused', { count });
  return endpoint ?? '';
}

export const unitsOf = ({ meter, units }: Row): string =>
  meter === null ? '' : t(`meters.count.${meter}`, { count: units });

export function chargeOf(row: Row): string {
  if (row.meter === null || row.state === 'refused') return t('usage.states.refused');
  const charge = unitsOf(row);
  return row.state === 'refunded' ? t('usage.log.refunded', { charge }) : charge;
}

/** Input and output tokens together. Null if neither is known. */
export const tokensOf = ({ input_tokens: input, output_tokens: output }: Row): number | null =>
  input === null && output === null ? null : (input ?? 0) + (output ?? 0);

const NONE = '–';

export const tookOf = ({ latency_ms: ms }: Row): string => (ms === null ? NONE : formatMs(ms));

/** The cells that only rows of requests have. */
export function cellsOf(row: Row): { model: string; tokens: string; firstOutput: string } {
  const tokens = tokensOf(row);
  return {
    model: row.model ?? NONE,
    tokens: tokens === null ? NONE : formatCount(tokens),
    firstOutput: row.first_output_ms === null ? NONE : formatMs(row.first_output_ms),
  };
}

export function outcomeOf({ code, state, status }: Row): {
  text: string;
  color: 'green' | 'yellow' | 'red' | 'gray';
} {
  if (state === 'admitted') return { text: t('usage.states.admitted'), color: 'gray' };
  const text = [status, code].filter((part) => part !== null).join(' ');
  const color = status === null ? 'gray' : status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
  return { text: text === '' ? t(`usage.states.${state}`) : text, color };
}
