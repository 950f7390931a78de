import { useSyncExternalStore } from 'react';
import { keep, kept, onForgotten } from '../../api/tab-storage.ts';

/**
 * Stores a value for each conversation, with '' for a new one. Values survive navigation, and are deleted at sign-out.
 *
 * @param name - the name in the tab's storage, with which values also survive reloads and the end of a session
 */
export function perConversation<T>(name?: string) {
  type Values = Readonly<Record<string, T>>;
  const listeners = new Set<() => void>();
  let values = (name === undefined ? {} : (kept(name) ?? {})) as Values;

  function show(next: Values): void {
    values = next;
    for (const listener of listeners) listener();
  }

  onForgotten(() => show({}));

  function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  const of = (conversationId: string): T | undefined => values[conversationId];

  const all = (): T[] => Object.values(values);

  function set(conversationId: string, value: T | undefined): void {
    const { [conversationId]: _, ...others } = values;
    const next = value === undefined ? others : { ...others, [conversationId]: value };
    if (name !== undefined) keep(name, next);
    show(next);
  }

  function move(from: string, to: string): void {
    const value = of(from);
    if (value === undefined || from === to) return;
    set(from, undefined);
    set(to, value);
  }

  /** @param read - selects from the values; must return the same result while they do not change */
  const useRead = <R>(read: () => R): R => useSyncExternalStore(subscribe, read);

  return { of, all, set, move, useRead };
}
