/** Has a Node process run TypeScript sources. */
export const typescriptLoader = `--import=${new URL('./typescript.mjs', import.meta.url)}`;
