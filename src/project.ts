import { existsSync, readFileSync } from 'node:fs';

/** The directory of `package.json`, as a URL with a trailing slash. */
export const projectRoot: URL = (() => {
  let folder = new URL('..', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder);
  return folder;
})();

export const { version } = JSON.parse(readFileSync(new URL('package.json', projectRoot), 'utf8')) as {
  version: string;
};
