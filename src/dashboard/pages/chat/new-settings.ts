/** The settings of a conversation that does not exist yet. They are sent with its first message. */
import { useSyncExternalStore } from 'react';
import { keep, kept, onForgotten } from '../../api/tab-storage.ts';

export type Settings = { instructions?: string; temperature?: number };

export const settingsOf = ({ instructions, temperature }: Settings): Settings => ({
  ...(instructions !== undefined && { instructions }),
  ...(temperature !== undefined && { temperature }),
});

const name = 'new-settings';
const listeners = new Set<() => void>();

/** Null until they are set. */
let settings = (kept(name) ?? null) as Settings | null;

function show(next: Settings | null): void {
  settings = next;
  for (const listener of listeners) listener();
}

onForgotten(() => show(null));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function setNewSettings(next: Settings | null): void {
  keep(name, next);
  show(next);
}

export const useNewSettings = (): Settings | null => useSyncExternalStore(subscribe, () => settings);
