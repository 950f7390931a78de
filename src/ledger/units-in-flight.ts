/**
 * Counts units of in-flight requests that are not in the ledger yet. A reading admitted them, and their settlement
 * decides. Contract section 5, argued in docs/decisions/0024-admission-from-a-reading.md.
 */
import type { Meter } from '../../schemas/plans.ts';

/**
 * The largest part of the remaining quota that such units of this process may use. Beyond it, the ledger decides before
 * the work starts, so that no work is wasted.
 */
const PART_IN_FLIGHT = 1 / 16;

type Counter = { accountId: string; meter: Meter };

/** A counter as a reading or a decision reports it. `day` is by the database's clock. */
export type CounterReading = { day: string; used: number; ceiling: number | null };

/** Units of requests that were admitted from readings of one day. */
type DayUnits = {
  day: string;
  /** Units of requests whose work is still running. */
  held: number;
  /** Units of requests whose settlement is in flight. The ledger may already include them. */
  settling: number;
};

type Units = {
  days: Map<string, DayUnits>;
  /** Units of requests whose admission the database is deciding. */
  deciding: number;
  /** Requests that have begun and not ended. */
  requests: number;
  /** How often the ledger has reported the used units. */
  news: number;
  /** The last report from the ledger. A reading that began before it may not include it. */
  known: { day: string; used: number } | undefined;
};

const newUnits = (): Units => ({ days: new Map(), deciding: 0, requests: 0, news: 0, known: undefined });

export class UnitsInFlight {
  readonly #counters = new Map<string, Units>();

  /** Begins a request. Call this before reading the usage, and end the request once. */
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

  /** The held units of the newest day; undefined if no units are held or settling. */
  held({ accountId, meter }: Counter): { day: string; units: number } | undefined {
    let newest: DayUnits | undefined;
    for (const one of this.#counters.get(`${accountId}/${meter}`)?.days.values() ?? [])
      if (newest === undefined || one.day > newest.day) newest = one;
    return newest && { day: newest.day, units: newest.held };
  }
}

export class UnitsOfRequest {
  readonly #all: Units;
  readonly #units: number;
  readonly #newsBefore: number;
  #onEnd: (() => void) | undefined;
  #as: 'held' | 'settling' | 'deciding' | undefined;
  #day: DayUnits | undefined;

  constructor(all: Units, units: number, onEnd: () => void) {
    this.#all = all;
    this.#units = units;
    this.#newsBefore = all.news;
    this.#onEnd = onEnd;
  }

  /**
   * Holds the units if the reading leaves enough. Otherwise counts them as being decided by the database.
   *
   * @returns the used units plus all held and settling units, or undefined if the database has to decide
   */
  hold({ ceiling, day, used }: CounterReading): number | undefined {
    const { days, deciding, known, news } = this.#all;
    const atLeast = known?.day === day && news > this.#newsBefore ? Math.max(used, known.used) : used;
    const ofDay = days.get(day) ?? { day, held: 0, settling: 0 };
    const inFlight = ofDay.held + ofDay.settling + deciding + this.#units;
    if (ceiling !== null && inFlight > (ceiling - atLeast) * PART_IN_FLIGHT) {
      this.decide();
      return undefined;
    }
    days.set(day, ofDay);
    this.#day = ofDay;
    this.#countAs('held');
    return atLeast + ofDay.held + ofDay.settling;
  }

  /** Counts the units as being decided by the database. */
  decide(): void {
    if (this.#as === undefined) this.#countAs('deciding');
  }

  /** Counts the units as settling once the work is done. Call this before sending them to the ledger. */
  settle(): void {
    if (this.#as === 'held') this.#countAs('settling');
  }

  /** The units that all requests hold now. */
  heldOn(day: string): number {
    return this.#all.days.get(day)?.held ?? 0;
  }

  /** Ends the request. `now` is the usage that the ledger reported, if any. */
  end(now?: { day: string; used: number }): void {
    if (this.#onEnd === undefined) return;
    this.#countAs(undefined);
    const { days, known } = this.#all;
    if (this.#day?.held === 0 && this.#day.settling === 0) days.delete(this.#day.day);
    if (now !== undefined && (known === undefined || known.day <= now.day)) {
      this.#all.known = now;
      this.#all.news += 1;
    }
    this.#onEnd();
    this.#onEnd = undefined;
  }

  #countAs(next: 'held' | 'settling' | 'deciding' | undefined): void {
    this.#add(this.#as, -this.#units);
    this.#add(next, this.#units);
    this.#as = next;
  }

  #add(as: 'held' | 'settling' | 'deciding' | undefined, units: number): void {
    if (as === 'deciding') this.#all.deciding += units;
    else if (as !== undefined && this.#day !== undefined) this.#day[as] += units;
  }
}
