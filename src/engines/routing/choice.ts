/** Chooses a target for a request. Contract section 15. */
import { createHash } from 'node:crypto';
import type { ChatCall } from '../types.ts';
import type { Target } from './targets.ts';

const nameOf = ({ model, upstream }: Target) => `${upstream.settings.name} ${model}`;

/** A number above 0 and below 1 that depends only on the texts. */
function fractionOf(...texts: string[]): number {
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest();
  return (digest.readUInt32BE(0) + 1) / (2 ** 32 + 1);
}

function greatest(targets: readonly Target[], score: (target: Target) => number): Target | undefined {
  let best: Target | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (const target of targets) {
    const value = score(target);
    if (value <= most) continue;
    [best, most] = [target, value];
  }
  return best;
}

/** Weighted rendezvous hashing: if a target becomes unavailable, only its requests move. */
const preferred = (targets: readonly Target[], affinity: string) =>
  greatest(targets, (target) => -target.weight / Math.log(fractionOf(affinity, nameOf(target))));

/** Of the targets with the fewest open requests per weight, picks one at random by weight. */
function leastBusy(targets: readonly Target[], random: () => number): Target | undefined {
  const load = ({ upstream, weight }: Target) => upstream.open / weight;
  const least = Math.min(...targets.map(load));
  return greatest(
    targets.filter((target) => load(target) === least),
    ({ weight }) => -weight / Math.log(Math.max(random(), Number.MIN_VALUE)),
  );
}

const ofLowestOrder = (targets: readonly Target[]) => {
  const lowest = Math.min(...targets.map(({ order }) => order));
  return targets.filter(({ order }) => order === lowest);
};

/**
 * Chooses among the targets that are ready. Returns undefined if none is ready. Targets at their maximum concurrency
 * come last, because a request waits there for a connection.
 */
export function chosen(
  targets: readonly Target[],
  { account, affinity }: Pick<ChatCall, 'account' | 'affinity'>,
  now: number,
  random: () => number,
): Target | undefined {
  const ready = targets.filter(({ health }) => health.isReady(now, account));
  if (ready.length < 2) return ready[0];
  const free = ready.filter(({ upstream }) => upstream.open < upstream.concurrency);
  const candidates = ofLowestOrder(free.length > 0 ? free : ready);
  if (candidates.length < 2) return candidates[0];
  return affinity === undefined ? leastBusy(candidates, random) : preferred(candidates, affinity);
}
