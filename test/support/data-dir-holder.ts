/**
 * A process that locks and releases data folders by commands on standard input. On `take <folder>`, it prints `holding`
 * or the error. On `release`, it prints `released`.
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
