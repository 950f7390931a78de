/**
 * Data that this tab keeps for an account after its session ends, such as drafts. It is restored after signing in, and
 * deleted when someone signs out on purpose or another account signs in.
 */
import { currentSession, subscribe } from './session.ts';

type Kept = { owner: string | null; values: Record<string, unknown> };

const key = 'parley.kept';
const clearings = new Set<() => void>();

function remembered(): Kept {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null') ?? { owner: null, values: {} };
  } catch {
    return { owner: null, values: {} };
  }
}

let state = remembered();

function set(next: Kept): void {
  state = next;
  try {
    if (next.owner === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(next));
  } catch {
    // Storage is unavailable or full: keep it in memory only.
  }
}

function changeOwner(owner: string | null): void {
  if (owner === state.owner) return;
  set({ owner, values: {} });
  for (const clear of clearings) clear();
}

export const keepFor = (accountId: string): void => changeOwner(accountId);

export const kept = (name: string): unknown => state.values[name];

export const keep = (name: string, value: unknown): void =>
  set({ ...state, values: { ...state.values, [name]: value } });

export function onForgotten(clear: () => void): void {
  clearings.add(clear);
}

const forgetWhenLeft = () => {
  const session = currentSession();
  if (session === 'out' || session === 'new') changeOwner(null);
};
subscribe(forgetWhenLeft);
forgetWhenLeft();
