/**
 * Data that this tab keeps for an account after its session ends, such as drafts. A new sign-in restores it. An
 * intended sign-out, or a sign-in to another account, deletes it.
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

const WRITE_AFTER_MS = 300;
let timer: ReturnType<typeof setTimeout> | undefined;

function write(): void {
  clearTimeout(timer);
  timer = undefined;
  try {
    if (state.owner === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(state));
  } catch {
    // Storage is unavailable or full, so the data remains only in memory.
  }
}

addEventListener('pagehide', () => timer !== undefined && write());

function changeOwner(owner: string | null): void {
  if (owner === state.owner) return;
  state = { owner, values: {} };
  write();
  for (const clear of clearings) clear();
}

export const keepFor = (accountId: string): void => changeOwner(accountId);

export const kept = (name: string): unknown => state.values[name];

/** Delays writing, because a write with every key press would slow down typing. */
export function keep(name: string, value: unknown): void {
  state = { ...state, values: { ...state.values, [name]: value } };
  timer ??= setTimeout(write, WRITE_AFTER_MS);
}

export function onForgotten(clear: () => void): void {
  clearings.add(clear);
}

const forgetWhenLeft = () => {
  const session = currentSession();
  if (session === 'out' || session === 'new') changeOwner(null);
};
subscribe(forgetWhenLeft);
forgetWhenLeft();
