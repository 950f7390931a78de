/** Filters with the API's names. The API rejects `key` in a query, because keys do not belong in URLs. */
export type Filters = {
  key_id: string;
  endpoint: string;
  model: string;
  status: string;
  /** The first UTC day, `YYYY-MM-DD`. '' for all days. */
  from: string;
  to: string;
  id: string;
};

export const noFilters: Filters = {
  key_id: '',
  endpoint: '',
  model: '',
  status: '',
  from: '',
  to: '',
  id: '',
};

/** The number of filters that are set. */
export const countOf = (filters: Filters): number =>
  Object.values(filters).filter((value) => value !== '').length;

/** The numbers of days that the chart of the Usage page can show. */
export const dayChoices = [7, 30, 90] as const;
export type Days = (typeof dayChoices)[number];
const defaultDays = 30;

export function daysOf(search: string): Days {
  const chosen = new URLSearchParams(search).get('days');
  return dayChoices.find((days) => String(days) === chosen) ?? defaultDays;
}

const DAY_MS = 86_400_000;

const dayIn = (text: string): string =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const isRequestId = (text: string): boolean => uuid.test(text);

export function filtersOf(search: string): Filters {
  const query = new URLSearchParams(search);
  const of = (name: string) => query.get(name) ?? '';
  return {
    key_id: of('key_id'),
    endpoint: of('endpoint'),
    model: of('model').slice(0, 200),
    status: of('status'),
    from: dayIn(of('from')),
    to: dayIn(of('to')),
    id: isRequestId(of('id')) ? of('id') : '',
  };
}

export function pathOf(filters: Filters, page = '/usage', days: Days = defaultDays): string {
  const set = Object.entries(filters).filter(([, value]) => value !== '');
  if (days !== defaultDays) set.push(['days', String(days)]);
  return set.length === 0 ? page : `${page}?${new URLSearchParams(set)}`;
}

export const isReversed = ({ from, to }: Filters): boolean => from !== '' && to !== '' && to < from;

/** Converts days to the times that the API expects. Includes the last day. */
export function queryOf({ endpoint, from, id, key_id, model, status, to }: Filters) {
  return {
    ...(id !== '' && { id }),
    ...(key_id !== '' && { key_id }),
    ...(endpoint !== '' && { endpoint }),
    ...(model !== '' && { model }),
    ...(status !== '' && { status }),
    ...(from !== '' && { from: `${from}T00:00:00.000Z` }),
    ...(to !== '' && { to: new Date(Date.parse(to) + DAY_MS).toISOString() }),
  };
}
