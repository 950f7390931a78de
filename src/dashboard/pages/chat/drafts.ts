/** What was written and not sent yet, by conversation. It survives other pages, a reload and the end of a session. */
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

/** @param conversationId - '' for a conversation that is not begun yet */
export function setDraft(conversationId: string, text: string): void {
  const { [conversationId]: _, ...others } = drafts;
  const next = text === '' ? others : { ...others, [conversationId]: text };
  keep(name, next);
  show(next);
}

/** Moves a draft to the conversation that its own turned into. */
export function moveDraft(from: string, to: string): void {
  const text = drafts[from];
  if (text === undefined || from === to) return;
  setDraft(from, '');
  setDraft(to, text);
}

export const useDraft = (conversationId: string): string =>
  useSyncExternalStore(subscribe, () => drafts[conversationId] ?? '');
