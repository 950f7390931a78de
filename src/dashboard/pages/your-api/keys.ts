import { useMutation, useQuery } from '@tanstack/react-query';
import { api, ok, type Schemas } from '../../api/client.ts';
import { toProblem } from '../../api/errors.ts';
import { queryClient } from '../../api/queries.ts';
import { showKey } from './shown-key.ts';

export type ApiKey = Schemas['ApiKey'];
type CreatedApiKey = Schemas['CreatedApiKey'];
export type Scope = Schemas['Scope'];

export const IDLE_DAYS = 30;

const queryKey = ['keys'];
const DAY_MS = 86_400_000;

export const useKeys = () =>
  useQuery({
    queryKey,
    queryFn: async ({ signal }) => (await ok(api.GET('/api/v1/keys', { signal }))).data,
  });

const inactiveKey = ['inactive-keys'];

export const useInactiveKeys = () =>
  useQuery({
    queryKey: inactiveKey,
    queryFn: async ({ signal }) =>
      (await ok(api.GET('/api/v1/keys', { params: { query: { status: 'inactive' } }, signal }))).data,
  });

/** Updates the list from the last response. Cancels in-flight queries, because their results are older. */
async function remember(change: (keys: ApiKey[]) => ApiKey[]): Promise<void> {
  await queryClient.cancelQueries({ queryKey });
  queryClient.setQueryData<ApiKey[]>(queryKey, (keys) => keys && change(keys));
}

const withoutSecret = ({ key: _, ...rest }: CreatedApiKey): ApiKey => rest;
const replaced = (key: ApiKey) => (keys: ApiKey[]) => keys.map((one) => (one.id === key.id ? key : one));
/** A failure can mean that another tab changed the keys. */
const reload = () => queryClient.invalidateQueries({ queryKey });

export const useCreateKey = () =>
  useMutation({
    mutationFn: (body: Schemas['CreateApiKey']) => ok(api.POST('/api/v1/keys', { body })),
    // Here, not in the dialog, to show the key even if the dialog has been closed.
    onSuccess: (created) => {
      showKey({ created });
      return remember((keys) => [withoutSecret(created), ...keys]);
    },
    onError: reload,
    // Keep the secret out of the cache: only the dialog that shows it keeps it.
    gcTime: 0,
  });

export const useChangeOrigins = (id: string) =>
  useMutation({
    mutationFn: (origins: string[]) =>
      ok(api.PATCH('/api/v1/keys/{id}', { params: { path: { id } }, body: { allowed_origins: origins } })),
    onSuccess: (changed) => remember(replaced(changed)),
    onError: reload,
  });

export const useRotateKey = (id: string) =>
  useMutation({
    mutationFn: (graceSeconds: number) =>
      ok(
        api.POST('/api/v1/keys/{id}/rotate', {
          params: { path: { id } },
          body: { grace_seconds: graceSeconds },
        }),
      ),
    onSuccess: (created, graceSeconds) => {
      showKey({ created, rotation: { graceSeconds, at: Date.now() } });
      return remember(replaced(withoutSecret(created)));
    },
    onError: reload,
    gcTime: 0,
  });

export const useEndPreviousSecret = (id: string) =>
  useMutation({
    mutationFn: async () => {
      try {
        await ok(api.DELETE('/api/v1/keys/{id}/previous-secret', { params: { path: { id } } }));
      } catch (error) {
        // The old secret has already expired.
        if (toProblem(error).code !== 'notFound') throw error;
      }
    },
    onSuccess: () =>
      remember((keys) =>
        keys.map((key) => (key.id === id ? { ...key, previous_secret_expires_at: null } : key)),
      ),
    onError: reload,
  });

/** When the old secret of a key stops working. Null if it has stopped or there is none. */
export function previousSecretEnd({ previous_secret_expires_at: end = null }: ApiKey): string | null {
  return end !== null && Date.parse(end) > Date.now() ? end : null;
}

/** @param onRevoked - called before the key leaves the list and its dialog closes */
export const useRevokeKey = (id: string, onRevoked: () => void) =>
  useMutation({
    mutationFn: async () => {
      try {
        await ok(api.DELETE('/api/v1/keys/{id}', { params: { path: { id } } }));
      } catch (error) {
        // Another tab has already revoked the key.
        if (toProblem(error).code !== 'notFound') throw error;
      }
    },
    onSuccess: () => {
      onRevoked();
      void queryClient.invalidateQueries({ queryKey: inactiveKey });
      return remember((keys) => keys.filter((key) => key.id !== id));
    },
    onError: reload,
  });

/** Days since the last use. Null below the threshold for a hint. */
export function idleDays({ created_at: createdAt, last_used_at: lastUsedAt }: ApiKey): number | null {
  const days = Math.floor((Date.now() - new Date(lastUsedAt ?? createdAt).getTime()) / DAY_MS);
  return days >= IDLE_DAYS ? days : null;
}
