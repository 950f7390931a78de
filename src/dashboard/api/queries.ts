/** How the dashboard asks: what is kept, what is tried again, and what an ended session means. */
import { MutationCache, QueryCache, QueryClient, useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from './client.ts';
import { toProblem } from './errors.ts';
import { currentSession, setSession, subscribe } from './session.ts';
import { keepFor } from './tab-storage.ts';

const RETRIES = 2;

/** How an ended session shows; the second where API keys are taken as well. */
const ends = new Set(['sessionRequired', 'missingCredentials']);

/** An ended session is noticed wherever it is met; the page that was open is where signing in leads back to. */
export function noticeEnd(error: unknown): void {
  if (ends.has(toProblem(error).code) && currentSession() === 'in') setSession('ended');
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEnd }),
  mutationCache: new MutationCache({ onError: noticeEnd }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < RETRIES && toProblem(error).isTransient,
    },
    // Offline, somebody who presses a button is told so at once.
    mutations: { networkMode: 'always' },
  },
});

// What was loaded is nobody else's business, in whatever tab the session ended.
subscribe(() => {
  if (currentSession() !== 'in') queryClient.clear();
});

/** Goes on as the account that has just signed in, or up. */
export function signedIn(account: Schemas['Account']): void {
  keepFor(account.id);
  queryClient.setQueryData(['account'], account);
  setSession('in');
}

/** The account that is signed in. */
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

/** What this installation is: whether sign-ups are open, who runs it, who answers. */
export const useService = () =>
  useQuery({
    queryKey: ['service'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/service', { signal })),
    staleTime: 300_000,
  });
