// A build is skipped if its sources have not changed, so the list of sources must have every file that the build includes.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const toolsOf = (name: string) => import(new URL(`../../tools/prepare/${name}.mjs`, import.meta.url).href);
const { dashboardFiles } = await toolsOf('dashboard');
const { serviceFiles } = await toolsOf('build');
const { programs } = (await toolsOf('programs')) as { programs: string[] };

/** Type imports are not part of a build. */
const typeImports = /^(import|export) type [^;]*;/gm;

/** The relative imports of a file, including dynamic ones, as paths from the root. */
const importsOf = (file: string): string[] =>
  ts
    .preProcessFile(fs.readFileSync(path.join(root, file), 'utf8').replaceAll(typeImports, ''))
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => path.join(path.dirname(file), fileName.replace(/\?.*$/, '')));

function importedFrom(entries: readonly string[]): Set<string> {
  const found = new Set(entries);
  for (const file of found)
    if (/\.tsx?$/.test(file)) for (const imported of importsOf(file)) found.add(imported);
  return found;
}

const missing = (imported: ReadonlySet<string>, listed: readonly string[]): string[] =>
  [...imported].filter((file) => !listed.includes(file));

t.test("the dashboard's list of sources has every imported file", async (t) => {
  const imported = importedFrom(['src/dashboard/main.tsx']);
  for (const file of ['texts/de.ts', 'pages/chat/math-marks.ts', '../sdk/client.ts'])
    t.ok(imported.has(path.join('src/dashboard', file)), file);
  t.same(missing(imported, dashboardFiles(root)), []);
});

t.test("the service's list of sources has every imported file", async (t) => {
  const imported = importedFrom(programs.map((name) => `src/${name}.ts`));
  for (const file of ['app.ts', 'dashboard/sections.ts']) t.ok(imported.has(`src/${file}`), file);
  t.same(missing(imported, serviceFiles(root)), []);
});
