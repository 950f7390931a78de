/** Windows that all replicas share in Redis. If Redis is unavailable, each replica counts alone. Contract section 5. */
import type { WindowCount, Windows } from './memory-windows.ts';
import type { RedisLink } from './redis-link.ts';

const PREFIX = 'parley:limit:';

const takeScript = `
  local current = redis.call('INCR', KEYS[1])
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < 0 then
    ttl = tonumber(ARGV[1])
    redis.call('PEXPIRE', KEYS[1], ttl)
  end
  return {current, ttl}`;

const takeBackScript = `
  if tonumber(redis.call('GET', KEYS[1]) or 0) > 0 then redis.call('DECR', KEYS[1]) end
  return {0, 0}`;

const readScript = `
  local current = tonumber(redis.call('GET', KEYS[1]) or 0)
  return {current, math.max(redis.call('PTTL', KEYS[1]), 0)}`;

type Counted = [current: number, ttl: number];

const windowCount = (counted: Counted | undefined): WindowCount | undefined =>
  counted && { current: counted[0], ttl: counted[1] };

export class RedisWindows implements Windows {
  readonly #own: Windows;
  readonly #take;
  readonly #takeBack;
  readonly #read;

  /** @param own - the windows of this replica */
  constructor(link: RedisLink, own: Windows) {
    this.#own = own;
    this.#take = link.script<Counted>('windowTake', 1, takeScript);
    this.#takeBack = link.script<Counted>('windowTakeBack', 1, takeBackScript);
    this.#read = link.script<Counted>('windowRead', 1, readScript);
  }

  async take(key: string, windowMs: number): Promise<WindowCount> {
    // Counts here too, so that losing Redis does not restart every window.
    const [own, counted] = await Promise.all([
      this.#own.take(key, windowMs),
      this.#take(PREFIX + key, windowMs),
    ]);
    return windowCount(counted) ?? own;
  }

  async takeBack(key: string): Promise<void> {
    await Promise.all([this.#own.takeBack(key), this.#takeBack(PREFIX + key)]);
  }

  async read(key: string): Promise<WindowCount> {
    return windowCount(await this.#read(PREFIX + key)) ?? this.#own.read(key);
  }
}
