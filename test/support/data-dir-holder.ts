/**
 * A process that takes data folders and gives them back as it is told on standard input: `take <folder>` answers
 * `holding`, or why not; `release` answers `released`.
 */
import { createInterface } from 'node:readline';
import { type DataDirLock, lockDataDir } from '../../src/database/data-dir-lock.ts';

async function handleCommand(name: string, args: string[]): Promise<string[]> {
  if (name === 'fail') throw new Error('It cannot be done.');
  return [`${name} ${args.join(',')}`, 'second line'];
}

let lock: DataDirLock | undefined;
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  try {
    if (line === 'release') {
      await lock?.release();
      console.log('released');
    } else {
      lock = await lockDataDir(line.slice('take '.length), handleCommand);
      console.log('holding');
    }
  } catch (error) {
    console.log(`${(error as Error).name}: ${(error as Error).message}`);
  }
}
