/**
 * The models chosen for the next message of each conversation, kept like drafts, and the model of new chats, which this
 * browser remembers.
 */
import { perConversation } from './per-conversation.ts';

const defaultKey = 'parley.model';
const choices = perConversation<string>('models');
let standard = remembered();

function remembered(): string | null {
  try {
    return localStorage.getItem(defaultKey);
  } catch {
    return null;
  }
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
    // Storage is unavailable, so the choice lasts until the page closes.
  }
  choices.set(conversationId, model);
}

/** After a message is sent, the conversation has its model. */
export const forgetChoice = (conversationId: string): void => choices.set(conversationId, undefined);

/** Applies a choice made while the first message was being sent to its conversation. */
export const moveChoice = choices.move;

/** Undefined if the user chose no model. */
export const useChoice = (conversationId: string): string | undefined =>
  choices.useRead(() => choices.of(conversationId));

/** The model of new chats. Null if the user chose none. */
export const useStandard = (): string | null => choices.useRead(() => standard);
