/**
 * Whether this browser is signed in. Scripts cannot read the cookie, and a request without it is an error, so local
 * storage holds the state. Every response can correct it (401 `sessionRequired`).
 */
import { useSyncExternalStore } from 'react';

/** `new`: nobody has signed in on this browser. `ended`: the session ended without a sign-out. */
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
let isLeftElsewhere = false;

export const currentSession = (): SessionState => state;

/** Whether a sign-out in another tab ended the session. */
export const wasLeftElsewhere = (): boolean => isLeftElsewhere;

export function setSession(next: Exclude<SessionState, 'new'>): void {
  state = next;
  isLeftElsewhere = false;
  try {
    localStorage.setItem(key, next);
  } catch {
    // Storage is unavailable, so the user has to sign in again after a reload.
  }
  for (const listener of listeners) listener();
}

/** Stores the flag, so that the documentation shows operators the same navigation. */
export function setOperator(isOperator: boolean): void {
  try {
    localStorage.setItem('parley.operator', String(isOperator));
  } catch {
    // Storage is unavailable, so the documentation has no link for operators.
  }
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSessionState = (): SessionState => useSyncExternalStore(subscribe, currentSession);

addEventListener('storage', (event) => {
  if (event.key !== key) return;
  const before = state;
  state = remembered();
  isLeftElsewhere = before === 'in' && state === 'out';
  for (const listener of listeners) listener();
});
