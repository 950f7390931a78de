/**
 * What this tab keeps for an account beyond the end of its session, such as what was being written: it is there again
 * after signing in, and gone once somebody signs out on purpose or somebody else signs in.
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
    // Storage is closed or full: until the page is left, then.
  }
}

function changeOwner(owner: string | null): void {
  if (owner === state.owner) return;
  set({ owner, values: {} });
  for (const clear of clearings) clear();
}

/** @param accountId - whose tab it is from here on */
export const keepFor = (accountId: string): void => changeOwner(accountId);

/** What was kept by a name, also before the page was loaded anew. */
export const kept = (name: string): unknown => state.values[name];

/** @param value - anything JSON can hold */
export const keep = (name: string, value: unknown): void =>
  set({ ...state, values: { ...state.values, [name]: value } });

/** @param clear - called when what was kept is nobody's business any more */
export function onForgotten(clear: () => void): void {
  clearings.add(clear);
}

const forgetWhenLeft = () => {
  const session = currentSession();
  if (session === 'out' || session === 'new') changeOwner(null);
};
subscribe(forgetWhenLeft);
forgetWhenLeft();
