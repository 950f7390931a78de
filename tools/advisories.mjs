/**
 * `make advisories`: uses `npm audit` to find known advisories for packages that ship. Exits with 1 if it finds any,
 * and with 2 if it cannot reach the registry.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shipped } from './shipped.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Total timeout for npm. Its registry timeout is 8 s, but a busy machine may start it slowly. */
const TIMEOUT_MS = 45_000;
const options = ['--omit=dev', '--package-lock-only', '--json', '--fetch-retries=0', '--fetch-timeout=8000'];

function audit(folder) {
  return new Promise((resolve) => {
    const child = spawn('npm', ['audit', ...options], {
      cwd: path.join(root, folder),
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: TIMEOUT_MS,
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

/** Advisories for one lock file. Undefined if the registry did not respond. */
async function advisoriesOf({ folder, name }) {
  const report = parsed(await audit(folder));
  if (report?.vulnerabilities === undefined) return undefined;
  return Object.values(report.vulnerabilities).flatMap(({ via }) =>
    // A string names a vulnerable dependency, which has its own entry.
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

/** @returns one advisory per line; undefined if a lookup failed and the others found none */
export async function advisories() {
  const found = await Promise.all(shipped.map(advisoriesOf));
  const known = [...new Set(found.flatMap((lines) => lines ?? []))];
  // Report known advisories even if another lookup failed.
  return known.length === 0 && found.includes(undefined) ? undefined : known;
}

export const notAsked = 'the registry could not be reached';

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = await advisories();
  if (found === undefined) {
    console.error(`Not checked: ${notAsked}. Try again with a registry that supports npm audit.`);
    process.exitCode = 2;
  } else if (found.length > 0) {
    console.error(`${found.join('\n')}\n${found.length} known advisories: update these packages.`);
    process.exitCode = 1;
  } else console.log('No package that ships has a known advisory.');
}
