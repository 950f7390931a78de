import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildStep } from './build.mjs';
import { Failure, failureFromFileSystem, say } from './console.mjs';
import { dashboardStep } from './dashboard.mjs';
import { installStep } from './install.mjs';
import { takeLock } from './lock.mjs';
import { newDatabaseStep } from './new-database.mjs';
import { Interrupted } from './process.mjs';
import { referenceStep } from './reference.mjs';
import { removeLeftovers } from './work-folder.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** The steps of each mode, in order. */
const modes = {
  serve: () => [
    installStep({ root, folder: '.', scope: 'serve' }),
    buildStep({ root }),
    dashboardStep({ root }),
    referenceStep({ root }),
    newDatabaseStep({ root }),
  ],
  test: () => [
    installStep({ root, folder: '.', scope: 'everything' }),
    installStep({ root, folder: 'test/clients', scope: 'everything' }),
    buildStep({ root }),
    dashboardStep({ root }),
    referenceStep({ root }),
    newDatabaseStep({ root }),
  ],
  'test-long': () => [
    ...modes.test(),
    installStep({ root, folder: 'test/agents', scope: 'everything' }),
    installStep({ root, folder: 'test/frameworks', scope: 'everything' }),
    installStep({ root, folder: 'test/generators', scope: 'everything' }),
    installStep({ root, folder: 'test/operation', scope: 'everything' }),
  ],
  bench: () => [...modes.test(), installStep({ root, folder: 'bench/peers', scope: 'serve' })],
  sdk: () => [
    installStep({ root, folder: '.', scope: 'serve' }),
    installStep({ root, folder: 'tools/sdk', scope: 'everything' }),
  ],
  lint: () => [
    installStep({ root, folder: 'tools/lint', scope: 'everything' }),
    installStep({ root, folder: 'tools/sdk', scope: 'everything' }),
    installStep({ root, folder: 'src/dashboard', scope: 'everything' }),
    installStep({ root, folder: 'test/operation', scope: 'everything' }),
  ],
};

/** Runs one mode and sets the exit code: 0, 1 with a one-line message, or 130 after Ctrl-C. */
export async function run([mode, ...rest]) {
  if (!Object.hasOwn(modes, mode ?? '') || rest.length > 0) {
    console.error(`usage: node tools/prepare.mjs ${Object.keys(modes).join('|')}`);
    process.exitCode = 2;
    return;
  }
  try {
    await prepare(modes[mode]());
  } catch (error) {
    const failure = failureFromFileSystem(error, root) ?? error;
    if (failure instanceof Interrupted) {
      say('Interrupted. Earlier installs and builds are unchanged. Run the same command again to continue.');
      process.exitCode = 130;
    } else if (failure instanceof Failure) {
      say(failure.message);
      process.exitCode = 1;
    } else throw failure;
  }
}

/**
 * Runs the steps that are not done. The first check needs no lock, so a prepared checkout takes a few milliseconds and
 * can be read-only. Each step is checked again under the lock, because the previous holder may have run it.
 */
async function prepare(steps) {
  if (steps.every((step) => step.isDone())) return;
  const lock = await takeLock(root, {
    onWait: () => say('Another command is preparing this checkout: waiting until it is done …'),
  });
  try {
    removeLeftovers(root);
    for (const step of steps) if (!step.isDone()) await step.run();
  } finally {
    lock.release();
  }
}
