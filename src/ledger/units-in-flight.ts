/**
 * Units of requests in flight that are not in the ledger yet: they were admitted from a reading, and the settlement
 * decides. Contract section 5, argued in docs/decisions/0024-admission-from-a-reading.md.
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

/** Units of requests that were admitted from a reading of one day. */
type DayUnits = {
  day: string;
  /** Their work is not done. */
  held: number;
  /** Their settlement is on its way: they may be in the ledger already. */
  settling: number;
};

type Units = {
  days: Map<string, DayUnits>;
  /** Of requests whose admission the database is deciding. */
  deciding: number;
  /** Requests that read, decide, hold, or settle. */
  requests: number;
  /** How often the ledger has told what is used. */
  news: number;
  /** What it told last. Readings that began before it may not show it. */
  known: { day: string; used: number } | undefined;
};

const newUnits = (): Units => ({ days: new Map(), deciding: 0, requests: 0, news: 0, known: undefined });

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

  /** Of the newest day; undefined if nothing is held. */
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
   * Holds the units, if the reading leaves enough. Otherwise they count as being decided.
   *
   * @returns what is used with all that is in flight, or undefined if the database has to decide
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

  /** The units count as being decided by the database. */
  decide(): void {
    if (this.#as === undefined) this.#countAs('deciding');
  }

  /** The work is done, and the units are on their way to the ledger. Call it before they are sent. */
  settle(): void {
    if (this.#as === 'held') this.#countAs('settling');
  }

  /** What all requests hold now. */
  heldOn(day: string): number {
    return this.#all.days.get(day)?.held ?? 0;
  }

  /** The request has ended, or is in the ledger, which may say how much is used now. */
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
