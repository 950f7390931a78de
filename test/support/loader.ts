import { fileURLToPath } from 'node:url';

/** The option with which Node.js runs TypeScript sources. */
export const typescriptLoader = `--import=${new URL('./typescript.mjs', import.meta.url)}`;

/** The path of a built program, as in production. Loading the sources would take three times as long. */
export const builtProgram = (name: 'main' | `commands/${string}`): string =>
  fileURLToPath(new URL(`../../dist/src/${name}.js`, import.meta.url));

/**
 * The command for a Node.js process that does not report to tap, which would slow its start by a third. The shell uses
 * exec, so the process ID is that of Node.js.
 *
 * @returns the program and its arguments, for `spawn`
 */
export const nodeWithoutTap = (...args: string[]): [string, string[]] => [
  '/bin/sh',
  ['-c', 'unset NODE_OPTIONS; exec "$0" "$@"', process.execPath, ...args],
];
