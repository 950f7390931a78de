import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Failure, withProgress } from './console.mjs';
import { explainNpm } from './npm-errors.mjs';
import { collect } from './process.mjs';
import { moveIntoPlace, removeQuietly, unfinishedFolder } from './work-folder.mjs';

const stampName = '.prepared.json';

/**
 * The step that installs a package's dependencies with `npm ci`, with or without devDependencies.
 *
 * It is done if the stamp in node_modules matches the content of package-lock.json and the platform. npm installs to a
 * temporary folder, which moves into place with the stamp when complete. If an install fails or is killed, the previous
 * installation remains, and a running server is not affected.
 *
 * @param {{ root: string, folder: string, scope: 'serve' | 'everything' }} options
 */
export function installStep({ root, folder, scope }) {
  const home = path.join(root, folder);
  const target = path.join(home, 'node_modules');

  function isDone() {
    const stamp = readStamp(target);
    return (
      stamp?.lock === lockHash(home) &&
      stamp.platform === platform() &&
      (stamp.scope === 'everything' || stamp.scope === scope)
    );
  }

  async function run() {
    // Serving must not remove packages that developers have installed.
    const all = scope === 'everything' || readStamp(target)?.scope === 'everything';
    const what =
      folder === '.' ? (all ? 'dependencies and development tools' : 'dependencies') : `tools of ${folder}`;
    await withProgress(`Installing ${what} (about a minute on a cold cache)`, async () => {
      const work = unfinishedFolder(root, 'install');
      try {
        await install(work, all);
        moveIntoPlace(root, path.join(work, 'node_modules'), target);
      } finally {
        removeQuietly(work);
      }
    });
  }

  async function install(work, all) {
    for (const name of ['package.json', 'package-lock.json', '.taprc']) {
      if (fs.existsSync(path.join(home, name))) fs.copyFileSync(path.join(home, name), path.join(work, name));
    }
    if (fs.existsSync(path.join(root, '.npmrc')))
      fs.copyFileSync(path.join(root, '.npmrc'), path.join(work, '.npmrc'));
    await npmCi(work, all);
    const modules = path.join(work, 'node_modules');
    fs.mkdirSync(modules, { recursive: true });
    await buildTap(work);
    const stamp = { lock: lockHash(home), platform: platform(), scope: all ? 'everything' : 'serve' };
    fs.writeFileSync(path.join(modules, stampName), JSON.stringify(stamp));
  }

  return { isDone, run };
}

async function npmCi(folder, all) {
  const options = ['--no-audit', '--no-fund', '--no-progress', '--loglevel=error', '--prefer-offline'];
  // By default, npm retries for more than a minute before it reports a missing network.
  const env = {
    npm_config_fetch_retry_mintimeout: '1000',
    npm_config_fetch_retry_maxtimeout: '5000',
    ...process.env,
  };
  const { code, output } = await collect('npm', ['ci', all ? '--include=dev' : '--omit=dev', ...options], {
    cwd: folder,
    env,
  });
  if (code !== 0) throw new Failure(explainNpm(output, code));
}

/** Generates tap's Test class for the plugins in .taprc, which each install requires. */
async function buildTap(folder) {
  const tap = path.join(folder, 'node_modules/.bin/tap');
  if (!fs.existsSync(tap) || !fs.existsSync(path.join(folder, '.taprc'))) return;
  const { code, output } = await collect(process.execPath, [tap, 'build'], { cwd: folder });
  if (code !== 0)
    throw new Failure(`${output}\nThe test runner could not be built. The output of "tap build" is above.`);
}

function lockHash(home) {
  try {
    return createHash('sha256')
      .update(fs.readFileSync(path.join(home, 'package-lock.json')))
      .digest('hex');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    throw new Failure(
      `There is no package-lock.json in ${home}: restore it with "git checkout -- package-lock.json".`,
    );
  }
}

function readStamp(modules) {
  try {
    return JSON.parse(fs.readFileSync(path.join(modules, stampName), 'utf8'));
  } catch {
    return undefined;
  }
}

/** A laptop and a container can share a checkout, but need different binaries. */
const platform = () => `${process.platform}-${process.arch}`;
