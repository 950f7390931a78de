/** Limits concurrent calls per account, and streams among them. Contract section 7. */
import { newId } from '../domain/ids.ts';
import { ApiError } from '../errors.ts';

export type CallCeilings = {
  /** `CALLS_PER_ACCOUNT`, including streams. */
  calls: number;
  /** `STREAMS_PER_ACCOUNT`. */
  streams: number;
};

export type FullLimit = keyof CallCeilings;

/** The same count across all processes. */
export type SharedCalls = {
  /** @returns the ceiling that was reached, or undefined if the call counts or the count is unavailable */
  take(
    accountId: string,
    id: string,
    isStream: boolean,
    ceilings: CallCeilings,
  ): Promise<FullLimit | undefined>;
  release(accountId: string, id: string): void;
};

export type Slot = {
  /** Safe to call twice. */
  release(): void;
};

function refusal(limit: FullLimit, ceiling: number): ApiError {
  if (limit === 'streams')
    return new ApiError('tooManyStreams', {
      message: `This account has reached its limit of ${ceiling} open streams. Nothing was charged. Finish or close a stream, then try again.`,
    });
  return new ApiError('tooManyCalls', {
    message: `This account has reached its limit of ${ceiling} concurrent calls. Nothing was charged. Wait for a call to finish, then try again.`,
  });
}

/** The calls of this process and, through `shared`, of all processes. */
export class Calls {
  readonly #ceilings: CallCeilings;
  readonly #shared: SharedCalls | undefined;
  readonly #taken = new Map<string, CallCeilings>();

  constructor(ceilings: CallCeilings, shared?: SharedCalls) {
    this.#ceilings = ceilings;
    this.#shared = shared;
  }

  /** Takes a slot, which must always be released. Throws ApiError `tooManyStreams` or `tooManyCalls`. */
  async take(accountId: string, isStream: boolean): Promise<Slot> {
    const full = this.#takeOwn(accountId, isStream);
    if (full !== undefined) throw refusal(full, this.#ceilings[full]);
    const id = newId();
    const fullElsewhere = await this.#shared?.take(accountId, id, isStream, this.#ceilings);
    if (fullElsewhere !== undefined) {
      this.#releaseOwn(accountId, isStream);
      throw refusal(fullElsewhere, this.#ceilings[fullElsewhere]);
    }
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#releaseOwn(accountId, isStream);
        this.#shared?.release(accountId, id);
      },
    };
  }

  get taken(): number {
    return [...this.#taken.values()].reduce((sum, { calls }) => sum + calls, 0);
  }

  #takeOwn(accountId: string, isStream: boolean): FullLimit | undefined {
    const { calls, streams } = this.#taken.get(accountId) ?? { calls: 0, streams: 0 };
    if (isStream && streams >= this.#ceilings.streams) return 'streams';
    if (calls >= this.#ceilings.calls) return 'calls';
    this.#taken.set(accountId, { calls: calls + 1, streams: streams + (isStream ? 1 : 0) });
    return undefined;
  }

  #releaseOwn(accountId: string, isStream: boolean): void {
    const { calls, streams } = this.#taken.get(accountId) ?? { calls: 1, streams: 1 };
    if (calls > 1) this.#taken.set(accountId, { calls: calls - 1, streams: streams - (isStream ? 1 : 0) });
    else this.#taken.delete(accountId);
  }
}
