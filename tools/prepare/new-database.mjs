import path from 'node:path';
import { builtFolderStep } from './built-folder.mjs';
import { Failure } from './console.mjs';
import { collect } from './process.mjs';
import { contentHash } from './sources.mjs';

const postgres = '@electric-sql/pglite';
const sources = [`node_modules/${postgres}/package.json`, 'tools/prepare/new-database.mjs'];

/**
 * The step that creates an empty embedded database in `dist/new-database`. The service copies it for each new
 * `DATA_DIR`, which takes a tenth of a second. Creating a database takes seconds and several hundred MB of memory.
 *
 * @param {{ root: string }} options
 */
export const newDatabaseStep = ({ root }) =>
  builtFolderStep({
    root,
    folder: 'dist/new-database',
    title: 'Creating an empty database',
    hash: () => contentHash(root, sources),
    build: (output) => create(root, path.join(output, 'files')),
  });

/** Runs in a new process, because this process started before the packages were installed. */
async function create(root, folder) {
  const program = `
    import { mkdirSync } from 'node:fs';
    import { PGlite } from '${postgres}';
    mkdirSync(process.argv[1], { recursive: true });
    const database = await PGlite.create({ dataDir: process.argv[1] });
    await database.close();
    process.exit();
  `;
  const args = ['--input-type=module', '--eval', program, folder];
  const { code, output } = await collect(process.execPath, args, { cwd: root });
  if (code !== 0)
    throw new Failure(
      `${output.trim()}\nThe empty database cannot be created: check that there are 100 MB of free space, run "rm -rf node_modules", then run this again.`,
    );
}
