import { useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from './client.ts';
import { queryClient } from './queries.ts';

export type Usage = Schemas['Usage'];
/** Without tokens, which are not charged per request and are shown separately. */
export type Meter = Exclude<keyof Usage['limits'], 'tokens'>;

/** In display order. This is a record so that the type check finds a missing meter. */
const order: Readonly<Record<Meter, true>> = { chat: true, images: true, search: true, embeddings: true };
export const meterNames = Object.keys(order) as Meter[];

/** The meters that a plan includes. */
export const metersOf = (limits: Usage['limits']): Meter[] =>
  meterNames.filter((meter) => limits[meter] !== undefined);

/** Prevents rapid refetches at the end of the day if the device's clock is wrong. */
const MIN_REFETCH_MS = 15_000;

const untilReset = ({ resetsAt }: Usage): number =>
  Math.max(MIN_REFETCH_MS, Date.parse(resetsAt) - Date.now() + 1000);

/** The refetch interval for data that changes with the day. False until today's usage is known. */
export const untilNextDay = (): number | false => {
  const usage = queryClient.getQueryData<Usage>(['usage']);
  return usage !== undefined && untilReset(usage);
};

/** Requests with a key change usage at any time, so each page that shows usage refetches it. */
export const usageIsStale = { staleTime: 0 };

export const useUsage = () =>
  useQuery({
    queryKey: ['usage'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/usage', { signal })),
    ...usageIsStale,
    refetchInterval: ({ state }) => state.data !== undefined && untilReset(state.data),
  });

export const usageChanged = (): void => {
  void queryClient.invalidateQueries({ queryKey: ['usage'] });
};

export const usePlans = () =>
  useQuery({
    queryKey: ['plans'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/plans', { signal })),
    staleTime: 300_000,
  });

export const useSubscription = () =>
  useQuery({
    queryKey: ['subscription'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/subscription', { signal })),
  });
