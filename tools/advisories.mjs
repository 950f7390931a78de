/**
 * `make advisories`: whether a package that ships has a known advisory, by `npm audit`. Exits with 1 where one has, and
 * with 2 where the registry could not be asked, which is no answer.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shipped } from './shipped.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** For npm in all, which itself gives a registry up after 8 s: a busy machine may take long to start it. */
const PATIENCE_MS = 45_000;
const options = ['--omit=dev', '--package-lock-only', '--json', '--fetch-retries=0', '--fetch-timeout=8000'];

/** What `npm audit` prints. */
function audit(folder) {
  return new Promise((resolve) => {
    const child = spawn('npm', ['audit', ...options], {
      cwd: path.join(root, folder),
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: PATIENCE_MS,
      killSignal: 'SIGKILL',
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
    child.on('error', () => resolve(''));
    child.on('close', () => resolve(printed));
  });
}

/** Advisories of one lock file; undefined where the registry did not say. */
async function advisoriesOf({ folder, name }) {
  const report = parsed(await audit(folder));
  if (report?.vulnerabilities === undefined) return undefined;
  return Object.values(report.vulnerabilities).flatMap(({ via }) =>
    // A text is the name of a package that brings it in, which is listed itself.
    via.flatMap((one) =>
      typeof one === 'string'
        ? []
        : [`${name}: ${one.name} ${one.range}: ${one.title} (${one.severity}) ${one.url}`],
    ),
  );
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns advisories, one a line; undefined where the registry could not be asked about every package */
export async function advisories() {
  const found = await Promise.all(shipped.map(advisoriesOf));
  const known = [...new Set(found.flatMap((lines) => lines ?? []))];
  // What is known is told, whatever else is not.
  return known.length === 0 && found.includes(undefined) ? undefined : known;
}

export const notAsked = 'the registry could not be asked, so nothing is known of advisories';

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = await advisories();
  if (found === undefined) {
    console.error(`Not checked: ${notAsked}. Run it again where npm reaches a registry that has them.`);
    process.exitCode = 2;
  } else if (found.length > 0) {
    console.error(`${found.join('\n')}\n${found.length} known advisories: update these packages.`);
    process.exitCode = 1;
  } else console.log('No package that ships has a known advisory.');
}
