/**
 * `make sbom`: writes CycloneDX documents to `sbom/`, one for the server's packages and one for the dashboard's. Lock
 * files are the source, so the documents cover every platform.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shipped } from './shipped.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = path.join(root, 'sbom');
const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));

/** The output of `npm sbom` for all packages of a lock file, including those for tests. */
function everything(manifest, lock) {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-sbom-'));
  try {
    fs.writeFileSync(path.join(work, 'package.json'), JSON.stringify(manifest));
    fs.writeFileSync(path.join(work, 'package-lock.json'), JSON.stringify(lock));
    const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
    const printed = spawnSync('npm', args, { cwd: work, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
    if (printed.status !== 0)
      throw new Error(
        `npm cannot list the packages of ${manifest.name}: ${printed.error?.message ?? printed.stderr}`,
      );
    return JSON.parse(printed.stdout);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

/** `npm sbom --omit dev` also omits packages that tests share, so this function filters by the lock file instead. */
function documentOf({ folder, name }) {
  const read = (file) => JSON.parse(fs.readFileSync(path.join(root, folder, file), 'utf8'));
  const { packages, ...lock } = read('package-lock.json');
  // npm requires a version, and the dashboard's package.json has none.
  const own = { version, ...packages[''] };
  const document = everything(
    { ...own, ...read('package.json') },
    { ...lock, packages: { ...packages, '': own } },
  );

  const ships = Object.entries(packages)
    .filter(([at, { dev }]) => at !== '' && !dev)
    .map(([at, { name: alias, version: its }]) => `${alias ?? at.split('node_modules/').at(-1)}@${its}`);
  const kept = new Set([document.metadata.component['bom-ref'], ...ships]);
  document.components = document.components.filter((component) => kept.has(component['bom-ref']));
  document.dependencies = document.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }));
  // npm uses the folder's name here.
  document.metadata.component.name = name;
  return document;
}

/** Tools that look for vulnerable or unlicensed packages need these fields. */
function check(document, name) {
  for (const { licenses, purl, version, ...component } of document.components)
    if (!version || !purl || !licenses?.length)
      throw new Error(`${name}: ${component.name} has no version, purl, or license.`);
  if (document.components.length === 0) throw new Error(`${name} has no components.`);
}

fs.mkdirSync(target, { recursive: true });
for (const one of shipped) {
  const document = documentOf(one);
  check(document, one.name);
  const file = path.join(target, `${one.name}.cdx.json`);
  fs.writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
  console.log(`${path.relative(root, file)}: ${document.components.length} components`);
}
