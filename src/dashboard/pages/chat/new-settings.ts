/** The settings of a conversation that does not exist yet. Its first message includes them. */
import { perConversation } from './per-conversation.ts';

export type Settings = { instructions?: string; temperature?: number };

export const settingsOf = ({ instructions, temperature }: Settings): Settings => ({
  ...(instructions !== undefined && { instructions }),
  ...(temperature !== undefined && { temperature }),
});

const settings = perConversation<Settings>('new-settings');

export const setNewSettings = (next: Settings | null): void => settings.set('', next ?? undefined);

/** Null until the user changes them. */
export const useNewSettings = (): Settings | null => settings.useRead(() => settings.of('') ?? null);
