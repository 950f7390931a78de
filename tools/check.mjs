/**
 * `make check`: runs every step, and prints ok, or the problem and how to fix it. Exits with 1 if a step failed.
 * Generated files are compared before and after regeneration, so the check also works on uncommitted changes.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { advisories, notAsked } from './advisories.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const node = process.execPath;
const lint = (program) => path.join(root, 'tools/lint/node_modules/.bin', program);
const dashboard = (program) => path.join(root, 'src/dashboard/node_modules', program);

/** Redocly scores how easily programs can use the API: docs/decisions/0016-the-contracts-gates.md. */
const MIN_SCORE = 90;

/** Steps that do not need another step's output. They run in parallel. */
const first = [
  {
    name: 'format and lint',
    run: () => output(node, [lint('biome'), 'check', '--error-on-warnings', '.']),
    mend: `fix most problems with: ${path.relative(root, lint('biome'))} check --write .`,
  },
  {
    name: 'types',
    run: () =>
      output(node, [
        ...['node_modules/typescript/bin/tsc', '--noEmit', '--pretty', 'false'],
        ...['--incremental', '--tsBuildInfoFile', 'node_modules/.cache/types.tsbuildinfo'],
      ]),
    mend: 'fix the errors above',
  },
  {
    name: 'types of the dashboard',
    run: () => output(node, [dashboard('typescript/bin/tsc'), '-p', 'src/dashboard', '--pretty', 'false']),
    mend: 'fix the errors above',
  },
  {
    name: 'texts of the dashboard',
    run: () => output(node, ['tools/texts.mjs']),
    mend: 'change the files in src/dashboard/texts, or move the texts there (docs/decisions/0035-languages.md)',
  },
  {
    name: 'openapi.json is up to date',
    run: () => unchanged('openapi.json', 'npm', ['run', '--silent', 'openapi']),
    mend: 'it has been regenerated: review and commit it',
  },
  {
    name: 'migrations are up to date',
    run: () => unchanged('drizzle', 'npm', ['run', '--silent', 'migrations']),
    mend: 'run "make migrations", then review and commit what it writes to drizzle/',
  },
];

/** Steps that read openapi.json. They run after it is up to date. */
const second = [
  {
    name: 'openapi.json is compatible with the last release',
    run: () => output(node, ['tools/contract/check.mjs']),
    mend: 'v1 only allows additions (docs/guides/versioning.md): undo the changes listed above',
  },
  {
    name: "the SDK's types are up to date",
    run: () => unchanged('src/sdk', node, ['tools/sdk/generate.mjs']),
    mend: 'they have been regenerated from openapi.json: review and commit them',
  },
  {
    name: 'openapi.json by Redocly',
    run: () => output(node, [lint('redocly'), 'lint', '--config', 'tools/lint/redocly.yaml', 'openapi.json']),
    mend: 'fix the schema or route named above, then run "make openapi"',
  },
  {
    name: 'openapi.json by Spectral',
    run: () =>
      output(node, [
        lint('spectral'),
        'lint',
        '--fail-severity=hint',
        '--ruleset=tools/lint/spectral.yaml',
        'openapi.json',
      ]),
    mend: 'fix the schema or route named above, then run "make openapi"',
  },
  {
    name: `Redocly's score of openapi.json is over ${MIN_SCORE}`,
    async run() {
      const { problem, stdout } = await run(node, [
        lint('redocly'),
        ...['score', '--format=json', 'openapi.json'],
      ]);
      if (problem !== undefined) return problem;
      const { agentReadiness, hotspots } = JSON.parse(stdout);
      console.log(`        Redocly's score (of 100): ${agentReadiness}`);
      if (agentReadiness > MIN_SCORE) return undefined;
      return hotspots.map(({ operationId, reasons }) => `${operationId}: ${reasons.join(', ')}`).join('\n');
    },
    mend: 'simplify what was added, or give operations their own examples of errors',
  },
];

/** Informational: the score also measures other companies' conventions (docs/decisions/0016-the-contracts-gates.md). */
const scores = [
  {
    name: "score of IBM's lint-openapi (of 100)",
    run: async () => {
      const options = ['--no-colors', '--summary-only', '--impact-score', '--json'];
      const { stdout } = await run(node, [lint('lint-openapi'), ...options, 'openapi.json']);
      const { error, impactScore, warning } = JSON.parse(stdout.slice(stdout.indexOf('{')));
      const parts = Object.entries(impactScore.categorizedSummary).map(([name, score]) => `${name} ${score}`);
      return `${parts.join(', ')} (${error.summary.total} errors, ${warning.summary.total} warnings)`;
    },
  },
];

/** Only warns, because the registry's data can change without a change in the code. `make advisories` fails. */
async function warnOfAdvisories() {
  const found = await advisories();
  if (found === undefined) console.log(`        advisories: ${notAsked}`);
  else if (found.length === 0) console.log('        advisories: none known for packages that ship');
  else console.log(`WARNING advisories (make advisories):\n${found.join('\n')}`);
}

let failed = 0;
await sideBySide(first.map((step) => () => take(step)));
await sideBySide([
  warnOfAdvisories,
  ...second.map((step) => () => take(step)),
  ...scores.map(({ name, run: score }) => async () => {
    console.log(`        ${name}: ${await score().catch((error) => `none (${error.message})`)}`);
  }),
]);
console.log(
  failed === 0 ? 'All checks passed.' : `${failed} of ${first.length + second.length} checks failed.`,
);
process.exitCode = failed === 0 ? 0 : 1;

async function take({ name, run: problemOf, mend }) {
  const started = Date.now();
  const problem = await problemOf();
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  if (problem === undefined) console.log(`ok      ${name} (${seconds} s)`);
  else {
    failed += 1;
    console.log(`${problem}\nFAILED  ${name} (${seconds} s): ${mend}`);
  }
}

/** Runs tasks with one worker per processor. */
async function sideBySide(tasks) {
  const waiting = [...tasks];
  const worker = async () => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) await task();
  };
  await Promise.all(Array.from({ length: os.availableParallelism() }, worker));
}

function run(program, args) {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const printed = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'])
      child[stream].setEncoding('utf8').on('data', (text) => {
        printed[stream] += text;
      });
    child.on('error', (error) => resolve({ ...printed, problem: String(error) }));
    child.on('close', (code, signal) =>
      resolve({ ...printed, problem: code === 0 ? undefined : (signal ?? `exit code ${code}`) }),
    );
  });
}

/** Runs a program. Returns its output if it fails. */
async function output(program, args) {
  const { problem, stderr, stdout } = await run(program, args);
  return problem && (`${stdout}${stderr}`.trim() || problem);
}

/** Runs a generator. Returns a message if it fails or changes files. */
async function unchanged(target, program, args) {
  const before = contents(target);
  const problem = await output(program, args);
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
