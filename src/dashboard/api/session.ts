/**
 * Whether somebody is signed in. The cookie itself is out of reach of scripts, and asking without one is an error, so
 * this browser remembers; the service has the last word with every answer (401 `sessionRequired`).
 */
import { useSyncExternalStore } from 'react';

/** `new`: nobody was ever signed in here. `ended`: the session is over without anybody having asked for it. */
export type SessionState = 'new' | 'in' | 'out' | 'ended';

const key = 'parley.session';
const listeners = new Set<() => void>();

function remembered(): SessionState {
  try {
    const value = localStorage.getItem(key);
    return value === 'in' || value === 'out' || value === 'ended' ? value : 'new';
  } catch {
    return 'new';
  }
}

let state = remembered();

export const currentSession = (): SessionState => state;

export function setSession(next: Exclude<SessionState, 'new'>): void {
  state = next;
  try {
    localStorage.setItem(key, next);
  } catch {
    // Storage is closed: this page knows, the next one asks to sign in again.
  }
  for (const listener of listeners) listener();
}

/** @returns how to stop listening */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSessionState = (): SessionState => useSyncExternalStore(subscribe, currentSession);

// Signed in or out in another tab.
addEventListener('storage', (event) => {
  if (event.key !== key) return;
  state = remembered();
  for (const listener of listeners) listener();
});
