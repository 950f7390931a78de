/**
 * Units of requests in flight that are not in the ledger yet: they were admitted from a reading, and the settlement
 * decides. Contract section 5, argued in docs/decisions/0010-the-ledgers-protocol.md.
 */
import type { Meter } from '../../schemas/plans.ts';

/**
 * A request is admitted from a reading only while all such units of this process are at most this part of what is left.
 * Nearer to the ceiling, the ledger decides first, so that work is not done in vain.
 */
const PART_IN_FLIGHT = 1 / 16;

type Counter = { accountId: string; meter: Meter };

/** What a reading or a decision says, by the database's clock. */
export type CounterReading = { day: string; used: number; ceiling: number | null };

type Units = {
  /** Of requests that were admitted from a reading, and whose work is not done. */
  held: number;
  /** Of those whose settlement is on its way. They may be in the ledger already. */
  settling: number;
  /** Of requests whose admission the database is deciding. */
  deciding: number;
  /** Requests that read, decide, hold, or settle. */
  requests: number;
  /** How often units were held no longer. */
  releases: number;
  /** The last decision's: a reading may have been taken before it. */
  known: { day: string; used: number } | undefined;
};

const newUnits = (): Units => ({
  ...{ held: 0, settling: 0, deciding: 0, requests: 0, releases: 0 },
  known: undefined,
});

export class UnitsInFlight {
  readonly #counters = new Map<string, Units>();

  /** Begins a request, before its reading is taken. End it once. */
  begin(counter: Counter, units: number): UnitsOfRequest {
    const name = `${counter.accountId}/${counter.meter}`;
    const all = this.#counters.get(name) ?? newUnits();
    this.#counters.set(name, all);
    all.requests += 1;
    return new UnitsOfRequest(all, units, () => {
      all.requests -= 1;
      if (all.requests === 0) this.#counters.delete(name);
    });
  }

  held = ({ accountId, meter }: Counter): number => this.#counters.get(`${accountId}/${meter}`)?.held ?? 0;
}

export class UnitsOfRequest {
  readonly #all: Units;
  readonly #units: number;
  #onEnd: (() => void) | undefined;
  #as: 'held' | 'settling' | 'deciding' | undefined;

  constructor(all: Units, units: number, onEnd: () => void) {
    this.#all = all;
    this.#units = units;
    this.#onEnd = onEnd;
  }

  /**
   * Holds the units, if the reading leaves enough. Otherwise they count as being decided.
   *
   * @returns what is used with all that is held, or undefined if the database has to decide
   */
  hold({ ceiling, day, used }: CounterReading): number | undefined {
    const all = this.#all;
    const atLeast = all.known?.day === day ? Math.max(used, all.known.used) : used;
    const inFlight = all.held + all.settling + all.deciding + this.#units;
    if (ceiling !== null && inFlight > (ceiling - atLeast) * PART_IN_FLIGHT) {
      this.decide();
      return undefined;
    }
    this.#countAs('held');
    return atLeast + all.held + all.settling;
  }

  /** The units count as being decided by the database. */
  decide(): void {
    if (this.#as === undefined) this.#countAs('deciding');
  }

  /** The work is done, and the units are on their way to the ledger. Call it before they are sent. */
  settle(): void {
    if (this.#as === 'held') this.#countAs('settling');
  }

  /**
   * Changes whenever units of the account and meter are held no longer. If it changed while the database decided, it may
   * have counted units twice that reached the ledger meanwhile.
   */
  get releases(): number {
    return this.#all.releases;
  }

  #countAs(next: 'held' | 'settling' | 'deciding' | undefined): void {
    const all = this.#all;
    if (this.#as === 'held') all.releases += 1;
    if (this.#as !== undefined) all[this.#as] -= this.#units;
    if (next !== undefined) all[next] += this.#units;
    this.#as = next;
  }

  /** The request has ended, or is in the ledger, which may say how much is used now. */
  end(now?: { day: string; used: number }): void {
    if (this.#onEnd === undefined) return;
    this.#countAs(undefined);
    const { known } = this.#all;
    if (now !== undefined && (known === undefined || known.day < now.day)) this.#all.known = now;
    else if (now !== undefined && known?.day === now.day) known.used = Math.max(known.used, now.used);
    this.#onEnd();
    this.#onEnd = undefined;
  }
}
