export type CallCeilings = {
  /** `CALLS_PER_ACCOUNT`, including streams. */
  calls: number;
  /** `STREAMS_PER_ACCOUNT`. */
  streams: number;
};

export type FullLimit = keyof CallCeilings;

/** Counts calls in progress per account, and streams among them. */
export class CallCounter {
  readonly #taken = new Map<string, CallCeilings>();

  /** Counts a call. Returns the limit that was reached, or undefined if the call is now counted. */
  take(accountId: string, isStream: boolean, ceilings: CallCeilings): FullLimit | undefined {
    const { calls, streams } = this.#taken.get(accountId) ?? { calls: 0, streams: 0 };
    if (isStream && streams >= ceilings.streams) return 'streams';
    if (calls >= ceilings.calls) return 'calls';
    this.#taken.set(accountId, { calls: calls + 1, streams: streams + (isStream ? 1 : 0) });
    return undefined;
  }

  /** Call this once for each counted call. */
  release(accountId: string, isStream: boolean): void {
    const { calls, streams } = this.#taken.get(accountId) ?? { calls: 1, streams: 1 };
    if (calls > 1) this.#taken.set(accountId, { calls: calls - 1, streams: streams - (isStream ? 1 : 0) });
    else this.#taken.delete(accountId);
  }

  /** Calls in progress of all accounts. */
  get total(): number {
    return [...this.#taken.values()].reduce((sum, { calls }) => sum + calls, 0);
  }
}
