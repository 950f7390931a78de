/**
 * `make check`: every step runs, each says ok, or what is wrong and how to mend it; the exit code is 1 when one failed.
 * What is generated is compared with itself before and after generating anew, so work in progress may be checked too.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const node = process.execPath;
const lint = (program) => path.join(root, '.tools/lint/node_modules/.bin', program);
const dashboard = (program) => path.join(root, 'src/dashboard/node_modules', program);

const steps = [
  {
    name: 'format and lint',
    run: () => output(node, [lint('biome'), 'check', '--error-on-warnings', '.']),
    mend: `most of it mends itself: ${path.relative(root, lint('biome'))} check --write .`,
  },
  {
    name: 'types',
    run: () => output(node, ['node_modules/typescript/bin/tsc', '--noEmit', '--pretty', 'false']),
    mend: 'mend the lines above',
  },
  {
    name: 'types of the dashboard',
    run: () => output(node, [dashboard('typescript/bin/tsc'), '-p', 'src/dashboard', '--pretty', 'false']),
    mend: 'mend the lines above',
  },
  {
    name: 'openapi.json is up to date',
    run: () => unchanged('openapi.json', 'npm', ['run', '--silent', 'openapi']),
    mend: 'it has been written anew: look at it and commit it',
  },
  {
    name: "the dashboard's API client is up to date",
    run: () =>
      unchanged('src/dashboard/api/schema.d.ts', 'npm', [
        'run',
        '--silent',
        '--prefix',
        'src/dashboard',
        'api',
      ]),
    mend: 'it has been written anew from openapi.json: look at it and commit it',
  },
  {
    name: 'migrations are up to date',
    run: () => unchanged('drizzle', 'npm', ['run', '--silent', 'migrations']),
    mend: 'run "make migrations", look at what it writes to drizzle/ and commit it',
  },
  {
    name: 'openapi.json by Redocly',
    run: () =>
      output(node, [lint('redocly'), 'lint', '--config', '.tools/lint/redocly.yaml', 'openapi.json']),
    mend: 'mend the schema or route that the lines above name, then "make openapi"',
  },
  {
    name: 'openapi.json by Spectral',
    run: () =>
      output(node, [
        lint('spectral'),
        'lint',
        '--fail-severity=hint',
        '--ruleset=.tools/lint/spectral.yaml',
        'openapi.json',
      ]),
    mend: 'mend the schema or route that the lines above name, then "make openapi"',
  },
];

let failed = 0;
for (const { name, run, mend } of steps) {
  const started = Date.now();
  const problem = run();
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  if (problem === undefined) console.log(`ok      ${name} (${seconds} s)`);
  else {
    failed += 1;
    console.log(`${problem}\nFAILED  ${name} (${seconds} s): ${mend}`);
  }
}
console.log(failed === 0 ? 'Everything is in order.' : `${failed} of ${steps.length} checks failed.`);
process.exitCode = failed === 0 ? 0 : 1;

/** Runs a program; what it printed when it failed, nothing when it did not. */
function output(program, args) {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const options = { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
  const { status, error, stdout, stderr } = spawnSync(program, args, options);
  if (status === 0) return undefined;
  return `${stdout ?? ''}${stderr ?? ''}`.trim() || String(error ?? `exit code ${status}`);
}

/** Runs a generator; a sentence when it fails, or when what it generates is not what was there. */
function unchanged(target, program, args) {
  const before = contents(target);
  const problem = output(program, args);
  if (problem !== undefined) return problem;
  const after = contents(target);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (file) => before.get(file) !== after.get(file),
  );
  return changed.length === 0 ? undefined : `changed: ${changed.join(', ')}`;
}

function contents(target) {
  const files = new Map();
  const add = (name) => {
    const found = fs.statSync(path.join(root, name), { throwIfNoEntry: false });
    if (found?.isDirectory())
      for (const inner of fs.readdirSync(path.join(root, name))) add(`${name}/${inner}`);
    else if (found) files.set(name, fs.readFileSync(path.join(root, name), 'utf8'));
  };
  add(target);
  return files;
}
