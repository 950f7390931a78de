/** What each scope lets a key do, in a sentence. */
import type { Scope } from './keys.ts';

export const scopes: Record<Scope, string> = {
  chat: 'Talk to a model, and read and delete the conversations of this key. Draws on the daily chats.',
  images: 'Make pictures from words. Draws on the daily images.',
  search: 'Search. Draws on the daily searches.',
  usage: "See what is used of today's quota, and when it resets.",
  models: 'List the models that answer.',
};

export const scopeNames = Object.keys(scopes) as Scope[];
