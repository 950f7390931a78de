/**
 * The raw key on the screen. It cannot be shown again, so it is independent of the page: neither the Back button nor
 * the end of a session removes it.
 */
import { useSyncExternalStore } from 'react';
import type { Schemas } from '../../api/client.ts';

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
