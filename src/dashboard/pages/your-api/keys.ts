/** The account's keys: read, and changed. */
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

/** A key is as the last answer says; whatever was being asked for meanwhile is older. */
async function remember(change: (keys: ApiKey[]) => ApiKey[]): Promise<void> {
  await queryClient.cancelQueries({ queryKey });
  queryClient.setQueryData<ApiKey[]>(queryKey, (keys) => keys && change(keys));
}

const withoutSecret = ({ key: _, ...rest }: CreatedApiKey): ApiKey => rest;
const replaced = (key: ApiKey) => (keys: ApiKey[]) => keys.map((one) => (one.id === key.id ? key : one));
/** What failed may have failed because another tab has changed the keys. */
const reload = () => queryClient.invalidateQueries({ queryKey });

export const useCreateKey = () =>
  useMutation({
    mutationFn: (body: Schemas['CreateApiKey']) => ok(api.POST('/api/v1/keys', { body })),
    // Here and not in the dialog: the key is shown even if that was left meanwhile.
    onSuccess: (created) => {
      showKey({ created });
      return remember((keys) => [withoutSecret(created), ...keys]);
    },
    onError: reload,
    // The secret is kept by nobody but the dialog that shows it.
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

/** @param onRevoked - told before the key leaves the list, and what shows it the page */
export const useRevokeKey = (id: string, onRevoked: () => void) =>
  useMutation({
    mutationFn: async () => {
      try {
        await ok(api.DELETE('/api/v1/keys/{id}', { params: { path: { id } } }));
      } catch (error) {
        // Revoked in another tab before: that is what was wanted.
        if (toProblem(error).code !== 'notFound') throw error;
      }
    },
    onSuccess: () => {
      onRevoked();
      return remember((keys) => keys.filter((key) => key.id !== id));
    },
    onError: reload,
  });

/** For how many days nothing has used a key; null while that is less than worth a hint. */
export function idleDays({ created_at: createdAt, last_used_at: lastUsedAt }: ApiKey): number | null {
  const days = Math.floor((Date.now() - new Date(lastUsedAt ?? createdAt).getTime()) / DAY_MS);
  return days >= IDLE_DAYS ? days : null;
}
