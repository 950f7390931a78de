/** Checks whether Redis can share the limits. Contract section 5. */
import { Redis } from 'ioredis';
import type { Config } from '../../config.ts';
import { type Finding, isError, isWarning, reasonOf } from './finding.ts';

const CONNECT_MS = 3000;
/** After this time, a replica counts alone: see `limits/redis-link.ts`. */
const SLOW_MS = 100;
const PROBES = 5;

const remedies: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Start Redis, or correct the host and port in REDIS_URL.',
  ENOTFOUND: 'Correct the host in REDIS_URL.',
  ETIMEDOUT: 'Check the firewall between this machine and Redis, and the host in REDIS_URL.',
};

function refusal(error: unknown): Finding {
  const reason = reasonOf(error);
  if (/NOAUTH|WRONGPASS|invalid username-password|AUTH/.test(`${reason} ${(error as Error).message}`))
    return isError(
      'REDIS_URL',
      'Redis requires a password, or rejects the user or password.',
      'Correct the user and password in REDIS_URL: redis://user:password@host:6379/0.',
    );
  return isError(
    'REDIS_URL',
    `Redis cannot be used (${reason}). Each process then enforces rate limits separately.`,
    remedies[reason] ?? 'Check that Redis is running, and that REDIS_URL is correct.',
  );
}

async function slowest(redis: Redis): Promise<number> {
  const times: number[] = [];
  for (let probe = 0; probe < PROBES; probe += 1) {
    const start = performance.now();
    await redis.ping();
    times.push(performance.now() - start);
  }
  return Math.max(...times);
}

export async function checkRedis({ redisUrl }: Config): Promise<Finding[]> {
  if (redisUrl === undefined) return [];
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: CONNECT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let lastError: unknown;
  redis.on('error', (error) => {
    lastError = error;
  });
  try {
    await redis.connect();
    const ms = await slowest(redis);
    if (ms < SLOW_MS) return [];
    return [
      isWarning(
        'REDIS_URL',
        `Redis took ${Math.round(ms)} ms to respond. After ${SLOW_MS} ms, a process enforces rate limits without Redis.`,
        'Use a Redis server in the same network, and check its load.',
      ),
    ];
  } catch (error) {
    return [refusal(lastError ?? error)];
  } finally {
    redis.disconnect();
  }
}
