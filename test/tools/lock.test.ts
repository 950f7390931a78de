import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';

const { takeLock } = await import(new URL('../../tools/prepare/lock.mjs', import.meta.url).href);
const nobodyWaits = { onWait: () => {} };

t.test('takeLock: of many at once each holds it alone, and all of them in the end', async (t) => {
  const folder = t.testdir();
  let inside = 0;
  let mostInside = 0;
  const visit = async () => {
    const lock = await takeLock(folder, nobodyWaits);
    inside += 1;
    mostInside = Math.max(mostInside, inside);
    await sleep(10);
    inside -= 1;
    lock.release();
  };
  await Promise.all(Array.from({ length: 8 }, visit));
  t.equal(mostInside, 1);
  t.equal(fs.readdirSync(folder).length, 1, 'old lock files do not pile up');
});

t.test('takeLock: a holder elsewhere is dead after a time without a sign of life, not before', async (t) => {
  const folder = t.testdir();
  const file = path.join(folder, 'lock.7');
  const beat = (beats: number) =>
    fs.writeFileSync(file, JSON.stringify({ pid: 1, machine: 'elsewhere', beats }));
  beat(1);
  setTimeout(() => beat(2), 1000);
  let waited = 0;
  const started = Date.now();
  const lock = await takeLock(folder, {
    deadAfterMs: 2000,
    onWait: () => {
      waited += 1;
    },
  });
  const seconds = (Date.now() - started) / 1000;
  t.ok(seconds > 2.9 && seconds < 60, `${seconds} s`);
  t.equal(waited, 1);
  t.doesNotThrow(() => lock.assertHeld());
  lock.release();
});

t.test('takeLock: who was stopped until another took over has lost it', async (t) => {
  const folder = t.testdir();
  const lock = await takeLock(folder, nobodyWaits);
  fs.writeFileSync(path.join(folder, 'lock.2'), '{}');
  t.throws(() => lock.assertHeld(), { message: /run this again/ });
});
