/**
 * The memory budget of bodies in a worker. Beginnings of bodies use memory that the worker holds, so small bodies never
 * wait. The primary decides about all other memory. Contract section 6.
 */
import { BEGINNING_BYTES, type Budget, type Share } from '../bodies/budget.ts';
import { newId } from '../domain/ids.ts';
import type { Channel } from './channel.ts';
import type { PrimaryMethods } from './methods.ts';

export class SharedBudget implements Budget {
  readonly #primary: Channel<PrimaryMethods>;
  readonly #bytes: number;
  #used = 0;

  /** @param bytes - the memory that this worker holds */
  constructor(primary: Channel<PrimaryMethods>, bytes: number) {
    this.#primary = primary;
    this.#bytes = bytes;
  }

  share(sender: string): Share {
    const primary = this.#primary;
    /** The ID under which the primary counts the body; undefined until then. */
    let body: string | undefined;
    let own = 0;
    let isOpen = true;
    const fitsHere = (bytes: number) =>
      body === undefined && own + bytes <= BEGINNING_BYTES && this.#used + bytes <= this.#bytes;

    const askForRoom = async (id: string, bytes: number) => {
      // If the primary has exited, this worker is shutting down.
      const hasRoom = (await primary.ask('takeRoom', id, sender, bytes)) ?? true;
      // The body was released meanwhile, but this call made the primary count it again.
      if (!isOpen) primary.notify('releaseRoom', id);
      return hasRoom && isOpen;
    };

    return {
      fits: (bytes) => {
        if (fitsHere(bytes)) return true;
        const answer = primary.ask(
          'hasRoom',
          body ?? newId(),
          sender,
          body === undefined ? own + bytes : bytes,
        );
        return answer.then((hasRoom) => hasRoom ?? true);
      },
      take: (bytes) => {
        if (!isOpen) return false;
        if (fitsHere(bytes)) {
          own += bytes;
          this.#used += bytes;
          return true;
        }
        if (body !== undefined) return askForRoom(body, bytes);
        // From now on, the primary counts the whole body.
        body = newId();
        const all = own + bytes;
        this.#used -= own;
        own = 0;
        return askForRoom(body, all);
      },
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#used -= own;
        if (body !== undefined) primary.notify('releaseRoom', body);
      },
    };
  }
}
