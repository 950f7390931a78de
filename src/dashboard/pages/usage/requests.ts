import type { Schemas } from '../../api/client.ts';
import { meters } from '../../api/usage.ts';
import { countOf, formatCount } from '../../ui/numbers.ts';

/** Operators also see the upstream and what it cost. */
export type Row = Schemas['LoggedRequest'] &
  Partial<Pick<Schemas['OperatorLoggedRequest'], 'upstream' | 'cost_micros'>>;

const endpoints = [
  'POST /api/v1/chat',
  'POST /api/v1/chat/completions',
  'POST /api/v1/responses',
  'POST /api/v1/messages',
  'POST /api/v1/images/generations',
  'POST /api/v1/search',
  'POST /api/v1/embeddings',
];

/** The endpoint of charges by a deleted account with the same address on that day. */
const CARRIED_OVER = 'carriedOver';

export const endpointFilters = [
  { value: '', label: 'Any endpoint' },
  ...endpoints.map((endpoint) => ({ value: endpoint, label: endpoint })),
  { value: CARRIED_OVER, label: 'Carried over from a deleted account' },
];

export const statuses = [
  { value: '', label: 'Any status' },
  { value: '2xx', label: '2xx: succeeded' },
  { value: '4xx', label: '4xx: refused' },
  { value: '403', label: '403: not allowed' },
  { value: '429', label: '429: over a limit' },
  { value: '5xx', label: '5xx: failed' },
];

const utc = new Intl.DateTimeFormat('en', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
});

/** "Nov 20, 17:42:07". Refusals are counted by minute, so they have no seconds. */
export const utcTime = ({ at, kind }: Pick<Row, 'at' | 'kind'>): string => {
  const text = utc.format(new Date(at));
  return kind === 'refusals' ? text.slice(0, -3) : text;
};

export const isCall = ({ endpoint }: Row): boolean => endpoint !== null && endpoint !== CARRIED_OVER;

export function whatOf({ count, endpoint, kind }: Row): string {
  if (endpoint === CARRIED_OVER) return 'Carried over from a deleted account';
  if (kind === 'refusals') return `${countOf(count, { one: 'request', many: 'requests' })} refused`;
  return endpoint ?? '';
}

export const states: Record<Row['state'], string> = {
  admitted: 'In progress',
  final: 'Charged',
  refunded: 'Refunded',
  refused: 'Not charged',
};

export function chargeOf({ meter, state, units }: Row): string {
  if (meter === null || state === 'refused') return 'Not charged';
  const amount = countOf(units, meters[meter]);
  return state === 'refunded' ? `${amount}, refunded` : amount;
}

export const msText = (ms: number): string =>
  ms < 1000 ? `${ms} ms` : `${formatCount(Math.round(ms / 100) / 10)} s`;

export const tookOf = ({ latency_ms: ms }: Row): string => (ms === null ? '–' : msText(ms));

export function outcomeOf({ code, state, status }: Row): {
  text: string;
  color: 'green' | 'yellow' | 'red' | 'gray';
} {
  if (state === 'admitted') return { text: 'In progress', color: 'gray' };
  const text = [status, code].filter((part) => part !== null).join(' ');
  const color = status === null ? 'gray' : status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
  return { text: text === '' ? states[state] : text, color };
}
