/** Debian's Redis, for tests that kill, pause, and flush it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { freePort, isInstalled } from './programs.ts';
import { eventually } from './upstream/engine.ts';

export type TestRedis = {
  url: string;
  /** Kills the server with kill -9. */
  kill(): Promise<void>;
  /** Starts the server on the same port, with no data. */
  start(): Promise<void>;
  /** Pauses the server (SIGSTOP). Connections stay open, but nothing responds. */
  pause(): void;
  /** Resumes the server after `pause`. */
  resume(): void;
  /** Removes all data and all cached scripts. */
  flush(): Promise<void>;
  /** The names of all keys. */
  keys(): Promise<string[]>;
};

/** Whether `redis-server` is installed. Without it, tests of Redis are skipped. */
export const hasRedis = (): boolean => isInstalled('redis-server');

/** Starts a Redis without persistence. It is killed when the test ends. */
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
    await eventually('Redis responds', () =>
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
  // If the test file crashes, no teardown runs.
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
