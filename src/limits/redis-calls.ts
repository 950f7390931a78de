/**
 * Counts calls across replicas in Redis. A process renews the lease of each call, so its slots become free after a
 * crash. While Redis is unavailable, each process counts only its own calls. Contract section 7.
 */
import type { CallCeilings, FullLimit } from './call-counter.ts';
import type { SharedCalls } from './calls.ts';
import type { RedisLink } from './redis-link.ts';

/** How long a call counts without a renewal, and therefore how long slots stay taken after a crash. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

const clock = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** KEYS: calls, streams. ARGV: ID, lease, call limit, stream limit or -1 for a plain call. */
const takeScript = `${clock}
  local ends = now + tonumber(ARGV[2])
  local streams = tonumber(ARGV[4])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  if streams >= 0 and redis.call('ZCARD', KEYS[2]) >= streams then return 'streams' end
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 'calls' end
  redis.call('ZADD', KEYS[1], ends, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  if streams >= 0 then
    redis.call('ZADD', KEYS[2], ends, ARGV[1])
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
  end
  return 'taken'`;

/** KEYS: calls, streams. ARGV: lease, then for each call its ID and whether it is a stream. */
const renewScript = `${clock}
  local ends = now + tonumber(ARGV[1])
  for at = 2, #ARGV, 2 do
    redis.call('ZADD', KEYS[1], ends, ARGV[at])
    if ARGV[at + 1] == '1' then redis.call('ZADD', KEYS[2], ends, ARGV[at]) end
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[1])
  return 'renewed'`;

const releaseScript = `
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  return 'released'`;

/** The braces keep both keys in one hash slot of a Redis cluster. */
const keysOf = (accountId: string) => [`parley:calls:{${accountId}}`, `parley:streams:{${accountId}}`];

export class RedisCalls implements SharedCalls {
  /** For each account: the IDs of its calls, and whether each is a stream. */
  readonly #open = new Map<string, Map<string, boolean>>();
  readonly #take;
  readonly #renew;
  readonly #release;
  #timer: NodeJS.Timeout | undefined;

  constructor(link: RedisLink) {
    this.#take = link.script<FullLimit | 'taken'>('callTake', 2, takeScript);
    this.#renew = link.script<string>('callRenew', 2, renewScript);
    this.#release = link.script<string>('callRelease', 2, releaseScript);
    // Redis may have lost all leases.
    link.onRegain(() => this.#renewAll());
  }

  async take(
    accountId: string,
    id: string,
    isStream: boolean,
    ceilings: CallCeilings,
  ): Promise<FullLimit | undefined> {
    const { calls, streams } = ceilings;
    const answer = await this.#take(...keysOf(accountId), id, LEASE_MS, calls, isStream ? streams : -1);
    if (answer === 'calls' || answer === 'streams') return answer;
    const open = this.#open.get(accountId) ?? new Map<string, boolean>();
    this.#open.set(accountId, open.set(id, isStream));
    this.#timer ??= setInterval(() => this.#renewAll(), RENEW_MS).unref();
    return undefined;
  }

  release(accountId: string, id: string): void {
    const open = this.#open.get(accountId);
    open?.delete(id);
    if (open?.size === 0) this.#open.delete(accountId);
    void this.#release(...keysOf(accountId), id);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #renewAll(): void {
    for (const [accountId, open] of this.#open) {
      const calls = [...open].flatMap(([id, isStream]) => [id, isStream ? 1 : 0]);
      void this.#renew(...keysOf(accountId), LEASE_MS, ...calls);
    }
  }
}
