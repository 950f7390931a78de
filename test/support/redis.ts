/** A real Redis, Debian's, for tests that kill, freeze and flush it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { freePort, isInstalled } from './programs.ts';
import { eventually } from './upstream/engine.ts';

export type TestRedis = {
  url: string;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts it on the same port, empty. */
  start(): Promise<void>;
  /** Freezes it (SIGSTOP): connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Forgets everything, compiled scripts included. */
  flush(): Promise<void>;
  keys(): Promise<string[]>;
};

/** Whether this machine has a `redis-server`; without it, tests of Redis are skipped, visibly. */
export const hasRedis = (): boolean => isInstalled('redis-server');

/** Starts a Redis that keeps nothing on the disk. It is killed when the test ends. */
export async function startRedis(t: Pick<Test, 'teardown'>): Promise<TestRedis> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;

  async function command<T>(run: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null });
    redis.on('error', () => {});
    try {
      await redis.connect();
      return await run(redis);
    } finally {
      redis.disconnect();
    }
  }

  async function start(): Promise<void> {
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    server = spawn('redis-server', options, { stdio: 'ignore', cwd: '/' });
    await eventually('Redis answers', () =>
      command((redis) => redis.ping()).then(
        () => true,
        () => false,
      ),
    );
  }

  async function kill(): Promise<void> {
    const child = server;
    server = undefined;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  await start();
  t.teardown(kill);
  // A test file that breaks off tears nothing down.
  process.once('exit', () => server?.kill('SIGKILL'));
  return {
    url,
    kill,
    start,
    pause: () => server?.kill('SIGSTOP'),
    resume: () => server?.kill('SIGCONT'),
    flush: () =>
      command(async (redis) => {
        await redis.flushall();
        await redis.script('FLUSH');
      }),
    keys: () => command((redis) => redis.keys('*')),
  };
}
