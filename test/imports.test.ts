// A source file imports only from its layer and the layers below it, as listed in the table in CONTRIBUTING.md.
import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import ts from 'typescript';
import { projectRoot } from '../src/project.ts';

const page = fs.readFileSync(new URL('CONTRIBUTING.md', projectRoot), 'utf8');
/** The table's files and folders, from top to bottom. Folders end with a slash. */
const layers = [...page.matchAll(/^\| (`[^|]+`) \|/gm)]
  .flatMap(([, cell]) => (cell ?? '').split(', '))
  .map((code) => code.replaceAll('`', ''))
  .filter((name) => name.startsWith('src/') || name === 'schemas/');

const isIn = (layer: string, file: string) => (layer.endsWith('/') ? file.startsWith(layer) : file === layer);
const layerOf = (file: string) => layers.findIndex((layer) => isIn(layer, file));

const sources = ['src', 'schemas'].flatMap((folder) =>
  fs
    .readdirSync(new URL(folder, projectRoot), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('/node_modules/')),
);

t.test('every source file belongs to a layer', async (t) => {
  t.ok(sources.length > 500);
  t.same(
    sources.filter((file) => layerOf(file) === -1),
    [],
  );
});

t.test('no file imports from a higher layer, not even a type', async (t) => {
  let imports = 0;
  for (const file of sources) {
    const { importedFiles } = ts.preProcessFile(fs.readFileSync(new URL(file, projectRoot), 'utf8'));
    for (const { fileName } of importedFiles) {
      if (!fileName.startsWith('.')) continue;
      const imported = path.posix.join(path.posix.dirname(file), fileName);
      if (layerOf(imported) === -1) continue;
      imports += 1;
      if (layerOf(imported) < layerOf(file)) t.fail(`${file} imports ${imported}`);
    }
  }
  t.ok(imports > 2000, `${imports} imports`);
});
