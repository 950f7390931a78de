/**
 * The models chosen for the next message of each conversation, kept as drafts are, and the one of new chats, which this
 * browser remembers.
 */
import { useSyncExternalStore } from 'react';
import { keep, kept, onForgotten } from '../../api/tab-storage.ts';

const name = 'models';
const defaultKey = 'parley.model';
const listeners = new Set<() => void>();

let choices = (kept(name) ?? {}) as Readonly<Record<string, string>>;
let standard = remembered();

function remembered(): string | null {
  try {
    return localStorage.getItem(defaultKey);
  } catch {
    return null;
  }
}

function show(next: typeof choices): void {
  choices = next;
  for (const listener of listeners) listener();
}

onForgotten(() => show({}));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setChoice(conversationId: string, model: string | undefined): void {
  const { [conversationId]: _, ...others } = choices;
  const next = model === undefined ? others : { ...others, [conversationId]: model };
  keep(name, next);
  show(next);
}

/**
 * Chooses the model of a conversation, and of new chats from now on.
 *
 * @param conversationId - '' for a new conversation
 */
export function chooseModel(conversationId: string, model: string): void {
  standard = model;
  try {
    localStorage.setItem(defaultKey, model);
  } catch {
    // Storage is unavailable: the choice lasts until the page is closed.
  }
  setChoice(conversationId, model);
}

/** Once a message is sent, the conversation has its model. */
export const forgetChoice = (conversationId: string): void => setChoice(conversationId, undefined);

/** What was chosen while the first message was sent applies to its conversation. */
export function moveChoice(from: string, to: string): void {
  const model = choices[from];
  if (model === undefined || from === to) return;
  setChoice(from, undefined);
  setChoice(to, model);
}

/** Undefined if none was chosen. */
export const useChoice = (conversationId: string): string | undefined =>
  useSyncExternalStore(subscribe, () => choices[conversationId]);

/** The model of new chats. */
export const useStandard = (): string | null => useSyncExternalStore(subscribe, () => standard);
