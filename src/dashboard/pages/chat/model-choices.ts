/**
 * The models chosen for the next message of each conversation, kept as drafts are, and the one of new chats, which this
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
    // Storage is unavailable: the choice lasts until the page is closed.
  }
  choices.set(conversationId, model);
}

/** Once a message is sent, the conversation has its model. */
export const forgetChoice = (conversationId: string): void => choices.set(conversationId, undefined);

/** What was chosen while the first message was sent applies to its conversation. */
export const moveChoice = choices.move;

/** Undefined if none was chosen. */
export const useChoice = (conversationId: string): string | undefined =>
  choices.useRead(() => choices.of(conversationId));

/** The model of new chats. */
export const useStandard = (): string | null => choices.useRead(() => standard);
