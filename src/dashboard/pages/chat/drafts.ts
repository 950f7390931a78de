/** Drafts by conversation. They survive navigation, reloads, and the end of a session. */
import { useSyncExternalStore } from 'react';
import { keep, kept, onForgotten } from '../../api/tab-storage.ts';

const name = 'drafts';
const listeners = new Set<() => void>();

let drafts = (kept(name) ?? {}) as Readonly<Record<string, string>>;

function show(next: Readonly<Record<string, string>>): void {
  drafts = next;
  for (const listener of listeners) listener();
}

onForgotten(() => show({}));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param conversationId - '' for a new conversation */
export function setDraft(conversationId: string, text: string): void {
  const { [conversationId]: _, ...others } = drafts;
  const next = text === '' ? others : { ...others, [conversationId]: text };
  keep(name, next);
  show(next);
}

export function moveDraft(from: string, to: string): void {
  const text = drafts[from];
  if (text === undefined || from === to) return;
  setDraft(from, '');
  setDraft(to, text);
}

export const draftOf = (conversationId: string): string => drafts[conversationId] ?? '';

export const hasDraft = (): boolean => Object.values(drafts).some((text) => text.trim() !== '');

export const useDraft = (conversationId: string): string =>
  useSyncExternalStore(subscribe, () => draftOf(conversationId));

/** In characters. */
export const LONGEST_MESSAGE = 100_000;

export type DraftState = 'empty' | 'tooLong' | 'ready';

export function stateOf(draft: string): DraftState {
  if (draft.length > LONGEST_MESSAGE) return 'tooLong';
  return draft.trim() === '' ? 'empty' : 'ready';
}

/** Does not change with every key press, as the draft does. */
export const useDraftState = (conversationId: string): DraftState =>
  useSyncExternalStore(subscribe, () => stateOf(draftOf(conversationId)));
