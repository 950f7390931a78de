import type { Scope } from './keys.ts';

export const scopes: Record<Scope, string> = {
  chat: 'Chat with a model, and read and delete the conversations of this key. Uses your daily chat quota.',
  images: 'Generate images from text. Uses your daily image quota.',
  search: 'Search, and compute embeddings. Uses your daily search and embeddings quotas.',
  usage: "See today's usage and when it resets.",
  models: 'List the available models.',
};

export const scopeNames = Object.keys(scopes) as Scope[];
