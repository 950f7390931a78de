import { MutationCache, QueryCache, QueryClient, useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from './client.ts';
import { isEndOfSession, toProblem } from './errors.ts';
import { currentSession, setSession, subscribe } from './session.ts';
import { keepFor } from './tab-storage.ts';

const RETRIES = 2;

/** Any response can reveal that the session ended. Signing in again returns to the current page. */
export function noticeEnd(error: unknown): void {
  if (isEndOfSession(toProblem(error)) && currentSession() === 'in') setSession('ended');
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEnd }),
  mutationCache: new MutationCache({ onError: noticeEnd }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < RETRIES && toProblem(error).isTransient,
    },
    // Offline, fail immediately instead of waiting for the network.
    mutations: { networkMode: 'always' },
  },
});

// Clear cached data even if the session ended in another tab.
subscribe(() => {
  if (currentSession() !== 'in') queryClient.clear();
});

export function signedIn(account: Schemas['Account']): void {
  keepFor(account.id);
  queryClient.setQueryData(['account'], account);
  setSession('in');
}

export const useAccount = () =>
  useQuery({
    queryKey: ['account'],
    queryFn: async ({ signal }) => {
      const account = await ok(api.GET('/api/v1/account', { signal }));
      keepFor(account.id);
      return account;
    },
    staleTime: 60_000,
  });

/** The models of every task. */
export const useModelList = () =>
  useQuery({
    queryKey: ['models'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/models', { signal })),
    staleTime: 300_000,
  });

export const answersChats = ({ task = 'chat' }: Schemas['Model']): boolean => task === 'chat';

export const useService = () =>
  useQuery({
    queryKey: ['service'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/service', { signal })),
    staleTime: 300_000,
  });
