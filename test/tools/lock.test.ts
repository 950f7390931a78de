import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const module = new URL('../../tools/prepare/lock.mjs', import.meta.url);
const { takeLock } = await import(module.href);

t.test('takeLock: concurrent callers hold the lock one at a time, and all of them get it', async (t) => {
  const folder = t.testdir();
  let inside = 0;
  let mostInside = 0;
  const visit = async () => {
    const lock = await takeLock(folder, { onWait: () => {} });
    inside += 1;
    mostInside = Math.max(mostInside, inside);
    await turn();
    inside -= 1;
    lock.release();
  };
  await Promise.all(Array.from({ length: 8 }, visit));
  t.equal(mostInside, 1);
});

const holdLock = `
  import { takeLock } from ${JSON.stringify(fileURLToPath(module))};
  Object.defineProperty(process, 'platform', { value: process.argv[2] });
  await takeLock(process.argv[1], { onWait() {} });
  console.log('held');
`;

// On macOS, a killed holder leaves its lock file behind.
for (const platform of ['linux', 'darwin'])
  t.test(
    `takeLock: a stopped process keeps the lock, and a killed one releases it (${platform})`,
    async (t) => {
      const folder = t.testdir();
      t.intercept(process, 'platform', { value: platform });
      const args = ['--input-type=module', '--eval', holdLock, folder, platform];
      const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      t.teardown(() => holder.kill('SIGKILL'));
      await once(holder.stdout, 'data');
      holder.kill('SIGSTOP');
      const waits = new EventEmitter();
      const taken = takeLock(folder, { onWait: () => waits.emit('wait') });
      await once(waits, 'wait');
      holder.kill('SIGKILL');
      const lock = await taken;
      t.pass('the waiting caller gets the lock');
      lock.release();
    },
  );
