import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';

export type Webhook = Schemas['Webhook'];

const PAGE = 5;
const REFRESH_MS = 2000;
/** The page does not wait for retries that are further away. */
const SOON_MS = 10_000;

/** The longest duration of an attempt. */
const ATTEMPT_MS = 20_000;

const timeOf = (at: string | null): number => (at === null ? Number.NaN : Date.parse(at));

const isBeingSent = (delivery: Schemas['WebhookDelivery']): boolean =>
  delivery.status === 'pending' &&
  (timeOf(delivery.next_attempt_at) < Date.now() + SOON_MS ||
    timeOf(delivery.last_attempt_at) > Date.now() - ATTEMPT_MS);

export const useWebhook = () =>
  useQuery({
    queryKey: ['webhook'],
    queryFn: async ({ signal }) => (await ok(api.GET('/api/v1/webhook', { signal }))).data,
  });

/** Refetches while a message is being sent. */
export const useDeliveries = () =>
  useInfiniteQuery({
    queryKey: ['webhook', 'deliveries'],
    queryFn: ({ pageParam, signal }) =>
      ok(
        api.GET('/api/v1/webhook/deliveries', {
          signal,
          params: { query: { limit: PAGE, ...(pageParam !== null && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor: next }) => next,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ data }) => data.some(isBeingSent)) ? REFRESH_MS : false,
  });

const refresh = () => queryClient.invalidateQueries({ queryKey: ['webhook'] });

export const usePutWebhook = () =>
  useMutation({
    mutationFn: (url: string) => ok(api.PUT('/api/v1/webhook', { body: { url } })),
    onSettled: refresh,
  });

export const useReplaceSecret = () =>
  useMutation({ mutationFn: () => ok(api.POST('/api/v1/webhook/secret')), onSettled: refresh });

export const useTestWebhook = () =>
  useMutation({ mutationFn: () => ok(api.POST('/api/v1/webhook/test')), onSettled: refresh });

export const useDeleteWebhook = () =>
  useMutation({ mutationFn: () => ok(api.DELETE('/api/v1/webhook')), onSettled: refresh });
