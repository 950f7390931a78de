/** The primary's counts for all workers. Contract section 13, docs/decisions/0034-workers.md. */
import { BodyBudget, type Share, workerBytes } from '../bodies/budget.ts';
import { LocalSlots } from '../concurrency/slots.ts';
import { CallCounter } from '../limits/call-counter.ts';
import { MemoryWindows } from '../limits/memory-windows.ts';
import type { PrimaryMethods } from './methods.ts';

type Shared = Omit<PrimaryMethods, 'readMetrics' | 'notePoll' | 'isReady'>;

/** Everything that one worker holds. */
export type WorkerState = {
  methods: Shared;
  /** Call it when the worker has ended. Releases everything that it held. */
  end(): void;
};

export class SharedState {
  readonly #windows = new MemoryWindows();
  readonly #calls = new CallCounter();
  readonly #slots = new LocalSlots();
  readonly #bodies: BodyBudget;

  /** @param bodyMemoryBytes - the total of all workers */
  constructor(bodyMemoryBytes: number) {
    this.#bodies = new BodyBudget(bodyMemoryBytes, workerBytes(bodyMemoryBytes));
  }

  ofWorker(): WorkerState {
    const [windows, calls, slots, bodies] = [this.#windows, this.#calls, this.#slots, this.#bodies];
    const openCalls = new Map<string, { accountId: string; isStream: boolean }>();
    const held = new Map<string, () => void>();
    const rooms = new Map<string, Share<boolean>>();

    const methods: Shared = {
      takeWindow: (key, windowMs) => windows.take(key, windowMs),
      takeBackWindow: (key) => windows.takeBack(key),
      readWindow: (key) => windows.read(key),

      takeCall: (id, accountId, isStream, ceilings) => {
        const full = calls.take(accountId, isStream, ceilings);
        if (full === undefined) openCalls.set(id, { accountId, isStream });
        return full ?? null;
      },
      releaseCall: (id) => {
        const call = openCalls.get(id);
        if (call !== undefined) calls.release(call.accountId, call.isStream);
        openCalls.delete(id);
      },

      takeSlot: async (id, queue, owner) => {
        const waiting = new AbortController();
        held.set(id, () => waiting.abort());
        try {
          const release = await slots.take(queue, owner, waiting.signal);
          // The worker released the slot while it waited, at the same time as it was granted.
          if (!held.has(id)) release();
          else held.set(id, release);
          return held.has(id);
        } catch {
          held.delete(id);
          return false;
        }
      },
      releaseSlot: (id) => {
        held.get(id)?.();
        held.delete(id);
      },

      hasRoom: (body, sender, bytes) => (rooms.get(body) ?? bodies.share(sender)).fits(bytes),
      takeRoom: (body, sender, bytes) => {
        const room = rooms.get(body) ?? bodies.share(sender);
        rooms.set(body, room);
        return room.take(bytes);
      },
      releaseRoom: (body) => {
        rooms.get(body)?.release();
        rooms.delete(body);
      },
    };

    return {
      methods,
      end: () => {
        for (const id of openCalls.keys()) methods.releaseCall(id);
        for (const id of held.keys()) methods.releaseSlot(id);
        for (const body of rooms.keys()) methods.releaseRoom(body);
      },
    };
  }
}
