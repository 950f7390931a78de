/**
 * The one raw key that is being shown. It lives outside the page, so that neither the browser's Back button nor a session
 * that ends takes away what cannot be shown again.
 */
import { useSyncExternalStore } from 'react';
import type { Schemas } from '../../api/client.ts';

/** What led to the key being shown; after a rotation, for how long the old secret goes on working. */
export type ShownKey = { created: Schemas['CreatedApiKey']; rotation?: { graceSeconds: number; at: number } };

let shown: ShownKey | null = null;
const listeners = new Set<() => void>();

export function showKey(next: ShownKey | null): void {
  shown = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useShownKey = (): ShownKey | null => useSyncExternalStore(subscribe, () => shown);
