/** What of the request log is shown. The page's address holds it, so that a link leads to the same rows. */

/** Named as the API names them: it refuses an address with `key` in its query, where no key belongs. */
export type Filters = {
  key_id: string;
  endpoint: string;
  status: string;
  /** The first UTC day, `YYYY-MM-DD`; '' for every one that is kept. */
  from: string;
  /** The last UTC day. */
  to: string;
  /** The one request of this id. */
  id: string;
};

export const noFilters: Filters = { key_id: '', endpoint: '', status: '', from: '', to: '', id: '' };

const DAY_MS = 86_400_000;

/** '' for what is no day. */
const dayIn = (text: string): string =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text is a whole request id. */
export const isRequestId = (text: string): boolean => uuid.test(text);

/** @param search - the query of the page's address */
export function filtersOf(search: string): Filters {
  const query = new URLSearchParams(search);
  const of = (name: string) => query.get(name) ?? '';
  return {
    key_id: of('key_id'),
    endpoint: of('endpoint'),
    status: of('status'),
    from: dayIn(of('from')),
    to: dayIn(of('to')),
    id: isRequestId(of('id')) ? of('id') : '',
  };
}

/** The address of the page that shows these. */
export function pathOf(filters: Filters): string {
  const set = Object.entries(filters).filter(([, value]) => value !== '');
  return set.length === 0 ? '/usage' : `/usage?${new URLSearchParams(set)}`;
}

/** Whether the last day is before the first. */
export const isTurnedAround = ({ from, to }: Filters): boolean => from !== '' && to !== '' && to < from;

/** What the API is asked: times instead of days, the last one included. */
export function queryOf({ endpoint, from, id, key_id, status, to }: Filters) {
  return {
    ...(id !== '' && { id }),
    ...(key_id !== '' && { key_id }),
    ...(endpoint !== '' && { endpoint }),
    ...(status !== '' && { status }),
    ...(from !== '' && { from: `${from}T00:00:00.000Z` }),
    ...(to !== '' && { to: new Date(Date.parse(to) + DAY_MS).toISOString() }),
  };
}

/** The name of a file with these rows: its days are in it. */
export function fileNameOf({ from, to }: Filters): string {
  const days = `${from === '' ? '' : `-from-${from}`}${to === '' ? '' : `-to-${to}`}`;
  return `parley-requests${days || `-${new Date().toISOString().slice(0, 10)}`}.csv`;
}
