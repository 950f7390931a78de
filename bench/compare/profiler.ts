/**
 * Loaded into Parley by `make profile`. SIGIO starts the profile that `PROFILE` names (`cpu` or `heap`), and the next
 * SIGIO writes it to `PROFILE_FILE`. Unlike `--cpu-prof` and `--heap-prof`, the profile excludes startup and includes memory
 * that was freed.
 */
import fs from 'node:fs';
import { Session } from 'node:inspector/promises';

const { PROFILE, PROFILE_FILE = '' } = process.env;
const session = new Session();
session.connect();
let isRunning = false;

async function start(): Promise<void> {
  if (PROFILE === 'cpu') {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    return;
  }
  const options = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  await session.post('HeapProfiler.startSampling', options);
}

async function stop(): Promise<void> {
  const { profile } =
    PROFILE === 'cpu' ? await session.post('Profiler.stop') : await session.post('HeapProfiler.stopSampling');
  fs.writeFileSync(`${PROFILE_FILE}.part`, JSON.stringify(profile));
  fs.renameSync(`${PROFILE_FILE}.part`, PROFILE_FILE);
}

process.on('SIGIO', () => {
  const work = isRunning ? stop() : start();
  isRunning = !isRunning;
  work.catch((error) => process.stderr.write(`${error}\n`));
});
