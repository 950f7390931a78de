import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { builtFolderStep } from './built-folder.mjs';
import { compress } from './compress.mjs';
import { Failure } from './console.mjs';
import { collect } from './process.mjs';
import { contentHash } from './sources.mjs';

const renderer = '@scalar/fastify-api-reference';
const sources = [`node_modules/${renderer}/package.json`, 'tools/prepare/reference.mjs'];

/**
 * The step that extracts the API reference's renderer from its package to `dist/reference`, under a content-hashed
 * name, with compressed copies.
 *
 * The package contains the renderer as a string and serves it as a plugin, so the plugin's response is the file.
 *
 * @param {{ root: string }} options
 */
export const referenceStep = ({ root }) =>
  builtFolderStep({
    root,
    folder: 'dist/reference',
    title: 'Building the API reference',
    hash: () => contentHash(root, sources),
    async build(output) {
      fs.mkdirSync(output);
      const file = path.join(output, 'scalar.js');
      await takeOut(root, file);
      const hash = createHash('sha256').update(fs.readFileSync(file)).digest('hex').slice(0, 12);
      fs.renameSync(file, path.join(output, `scalar-${hash}.js`));
      await compress(output);
    },
  });

/** Runs in a new process, because this process started before the packages were installed. */
async function takeOut(root, file) {
  const program = `
    import { writeFileSync } from 'node:fs';
    import fastify from 'fastify';
    import reference from '${renderer}';
    const app = fastify();
    app.register(reference, { routePrefix: '/', configuration: { content: { openapi: '3.1.0' } } });
    const { body, statusCode } = await app.inject('/js/scalar.js');
    if (statusCode !== 200) throw new Error(\`the renderer returned \${statusCode}\`);
    writeFileSync(process.argv[1], body);
  `;
  const args = ['--input-type=module', '--eval', program, file];
  const { code, output } = await collect(process.execPath, args, { cwd: root });
  if (code !== 0)
    throw new Failure(
      `${output.trim()}\nThe API reference cannot be built from ${renderer}: run "rm -rf node_modules", then run this again.`,
    );
}
