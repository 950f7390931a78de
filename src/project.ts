import { existsSync, readFileSync } from 'node:fs';

/** The directory of `package.json`, as a URL with a trailing slash. */
export const projectRoot: URL = (() => {
  let folder = new URL('..', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder);
  return folder;
})();

const isBuilt = import.meta.url.endsWith('.js');

/**
 * The URL of a module that runs in its own thread. `tools/prepare/programs.mjs` lists these modules.
 *
 * @param name - its path in `src`, without an extension
 */
export const threadProgram = (name: string): URL =>
  new URL(isBuilt ? `dist/src/${name}.js` : `src/${name}.ts`, projectRoot);

export const { version } = JSON.parse(readFileSync(new URL('package.json', projectRoot), 'utf8')) as {
  version: string;
};
