/** Limits concurrent calls per account, and streams among them. Contract section 7. */
import { newId } from '../domain/ids.ts';
import { ApiError } from '../errors.ts';
import { type CallCeilings, CallCounter, type FullLimit } from './call-counter.ts';

/** A count of calls that several processes share. */
export type SharedCalls = {
  /** @returns the limit that was reached, or undefined if the call is now counted or the count is unavailable */
  take(
    accountId: string,
    id: string,
    isStream: boolean,
    ceilings: CallCeilings,
  ): Promise<FullLimit | undefined>;
  release(accountId: string, id: string): void;
  /** Stops the timers. */
  stop?(): void;
};

export type Slot = {
  /** Safe to call twice. */
  release(): void;
};

function refusal(limit: FullLimit, ceiling: number): ApiError {
  if (limit === 'streams')
    return new ApiError('tooManyStreams', {
      message: `This account has reached its limit of ${ceiling} open ${ceiling === 1 ? 'stream' : 'streams'}. Nothing was charged. Finish or close a stream, then try again.`,
    });
  return new ApiError('tooManyCalls', {
    message: `This account has reached its limit of ${ceiling} concurrent ${ceiling === 1 ? 'call' : 'calls'}. Nothing was charged. Wait for a call to finish, then try again.`,
  });
}

/** Counts the calls of this process and, through each of `shared`, of other processes. */
export class Calls {
  readonly #ceilings: CallCeilings;
  readonly #shared: readonly SharedCalls[];
  readonly #own = new CallCounter();

  constructor(ceilings: CallCeilings, ...shared: SharedCalls[]) {
    this.#ceilings = ceilings;
    this.#shared = shared;
  }

  /** Takes a slot, which the caller must always release. Throws ApiError `tooManyStreams` or `tooManyCalls`. */
  async take(accountId: string, isStream: boolean): Promise<Slot> {
    const full = this.#own.take(accountId, isStream, this.#ceilings);
    if (full !== undefined) throw refusal(full, this.#ceilings[full]);
    const id = newId();
    const taken: SharedCalls[] = [];
    const release = () => {
      this.#own.release(accountId, isStream);
      for (const shared of taken.splice(0)) shared.release(accountId, id);
    };
    for (const shared of this.#shared) {
      const fullElsewhere = await shared.take(accountId, id, isStream, this.#ceilings);
      if (fullElsewhere !== undefined) {
        release();
        throw refusal(fullElsewhere, this.#ceilings[fullElsewhere]);
      }
      taken.push(shared);
    }
    let isHeld = true;
    return {
      release: () => {
        if (isHeld) release();
        isHeld = false;
      },
    };
  }

  get taken(): number {
    return this.#own.total;
  }

  stop(): void {
    for (const shared of this.#shared) shared.stop?.();
  }
}
