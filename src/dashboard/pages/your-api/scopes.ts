import type { Scope } from './keys.ts';

const scopes: Record<Scope, true> = { chat: true, images: true, search: true, usage: true, models: true };

/** Scopes in the order of the form. */
export const scopeNames = Object.keys(scopes) as Scope[];
