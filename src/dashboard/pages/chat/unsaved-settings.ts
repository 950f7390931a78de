/** Settings of new conversations that could not be saved. The tab keeps them until they are saved. */
import { api, ok } from '../../api/client.ts';
import { toProblem } from '../../api/errors.ts';
import { noticeEnd } from '../../api/queries.ts';
import type { Settings } from './new-settings.ts';
import { perConversation } from './per-conversation.ts';

const unsaved = perConversation<Settings>('unsaved-settings');

/** Undefined if the settings are saved. */
export const useUnsavedSettings = (conversationId: string): Settings | undefined =>
  unsaved.useRead(() => unsaved.of(conversationId));

export const forgetUnsavedSettings = (conversationId: string): void => unsaved.set(conversationId, undefined);

/** @throws Problem */
export async function saveSettings(
  conversationId: string,
  { instructions, temperature }: Settings,
): Promise<void> {
  await ok(
    api.PATCH('/api/v1/conversations/{id}', {
      params: { path: { id: conversationId } },
      body: { instructions: instructions ?? null, temperature: temperature ?? null },
    }),
  );
  forgetUnsavedSettings(conversationId);
}

/** Saves the settings of a first message, which the service applies only to its reply. */
export async function saveFirstSettings(conversationId: string, settings: Settings): Promise<void> {
  if (Object.keys(settings).length === 0) return;
  try {
    await saveSettings(conversationId, settings);
  } catch (error) {
    // The conversation was deleted in the meantime.
    if (toProblem(error).code === 'notFound') return;
    unsaved.set(conversationId, settings);
    noticeEnd(error);
  }
}
