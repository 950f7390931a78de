import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { compress } from './compress.mjs';
import { Failure, withProgress } from './console.mjs';
import { collect } from './process.mjs';
import { contentHash, readStamp } from './sources.mjs';
import { moveIntoPlace, removeQuietly, unfinishedFolder } from './work-folder.mjs';

const renderer = '@scalar/fastify-api-reference';
const sources = [`node_modules/${renderer}/package.json`, 'src/prepare/reference.mjs'];
const stampName = '.built-from';

/**
 * The step that takes the renderer of the API reference out of its package to `dist/reference`, under a name that
 * changes with its content and compressed beside itself. It is done while the stamp in there fits the package.
 *
 * The package carries the renderer as a string and serves it as a plugin; what it answers with there is the file.
 *
 * @param {{ root: string }} options
 */
export function referenceStep({ root }) {
  const target = path.join(root, 'dist/reference');

  const isDone = () => readStamp(target, stampName) === contentHash(root, sources);

  async function run(lock) {
    await withProgress('Building the API reference', async () => {
      const work = unfinishedFolder(root, 'reference');
      const output = path.join(work, 'reference');
      try {
        const file = path.join(work, 'scalar.js');
        await takeOut(root, file);
        const hash = createHash('sha256').update(fs.readFileSync(file)).digest('hex').slice(0, 12);
        fs.mkdirSync(output);
        fs.renameSync(file, path.join(output, `scalar-${hash}.js`));
        await compress(output);
        fs.writeFileSync(path.join(output, stampName), contentHash(root, sources));
        lock.assertHeld();
        fs.mkdirSync(path.dirname(target), { recursive: true });
        moveIntoPlace(root, output, target);
      } finally {
        removeQuietly(work);
      }
    });
  }

  return { isDone, run };
}

/** In a process of its own: this one began before anything was installed. */
async function takeOut(root, file) {
  const program = `
    import { writeFileSync } from 'node:fs';
    import fastify from 'fastify';
    import reference from '${renderer}';
    const app = fastify();
    app.register(reference, { routePrefix: '/', configuration: { content: { openapi: '3.1.0' } } });
    const { body, statusCode } = await app.inject('/js/scalar.js');
    if (statusCode !== 200) throw new Error(\`the renderer was answered with \${statusCode}\`);
    writeFileSync(process.argv[1], body);
  `;
  const args = ['--input-type=module', '--eval', program, file];
  const { code, output } = await collect(process.execPath, args, { cwd: root });
  if (code !== 0)
    throw new Failure(
      `${output.trim()}\nThe API reference cannot be built from ${renderer}: "rm -rf node_modules" and run this again.`,
    );
}
