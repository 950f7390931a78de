/** What the installation's folder holds, from the sources and from `dist/` alike. */
import { existsSync, readFileSync } from 'node:fs';

/** The folder with `package.json`, as a URL that ends in a slash. */
export const projectRoot: URL = (() => {
  let folder = new URL('..', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder);
  return folder;
})();

/** The version of the service. */
export const { version } = JSON.parse(readFileSync(new URL('package.json', projectRoot), 'utf8')) as {
  version: string;
};
