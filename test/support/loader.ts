import { fileURLToPath } from 'node:url';

/** Has a Node process run TypeScript sources. */
export const typescriptLoader = `--import=${new URL('./typescript.mjs', import.meta.url)}`;

/** What processes run, as in production: loading the sources one by one would take three times as long. */
export const builtProgram = (name: 'main' | `commands/${string}`): string =>
  fileURLToPath(new URL(`../../dist/src/${name}.js`, import.meta.url));

/**
 * What to spawn for a Node process that does not report to tap, which would make its start a third slower. The shell
 * replaces itself, so the process id is Node's.
 */
export const nodeWithoutTap = (...args: string[]): [string, string[]] => [
  '/bin/sh',
  ['-c', 'unset NODE_OPTIONS; exec "$0" "$@"', process.execPath, ...args],
];
