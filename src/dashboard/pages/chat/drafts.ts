/** Drafts by conversation. They survive navigation, reloads, and the end of a session. */
import { perConversation } from './per-conversation.ts';

const drafts = perConversation<string>('drafts');

/** @param conversationId - '' for a new conversation */
export const setDraft = (conversationId: string, text: string): void =>
  drafts.set(conversationId, text === '' ? undefined : text);

export const moveDraft = drafts.move;

export const draftOf = (conversationId: string): string => drafts.of(conversationId) ?? '';

export const hasDraft = (): boolean => drafts.all().some((text) => text.trim() !== '');

export const useDraft = (conversationId: string): string => drafts.useRead(() => draftOf(conversationId));

/** Length in characters. */
export const MAX_MESSAGE_LENGTH = 100_000;

export type DraftState = 'empty' | 'tooLong' | 'ready';

export function stateOf(draft: string): DraftState {
  if (draft.length > MAX_MESSAGE_LENGTH) return 'tooLong';
  return draft.trim() === '' ? 'empty' : 'ready';
}

/** Unlike the draft, the state rarely changes with a key press. */
export const useDraftState = (conversationId: string): DraftState =>
  drafts.useRead(() => stateOf(draftOf(conversationId)));
