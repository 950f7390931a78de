/** Writes collected items once a second, off the request path. */
import { setTimeout as delay } from 'node:timers/promises';

const FLUSH_MS = 1000;
/** An unresponsive database must not keep the process from exiting. */
const STOP_MS = 2000;

export class FlushTimer {
  readonly #write: () => Promise<void>;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param write - must not reject */
  constructor(write: () => Promise<void>) {
    this.#write = write;
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Joins a write in progress, which keeps the order and uses at most one connection. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const written = async () => {
      await this.#writing;
      await this.flush();
    };
    await Promise.race([written(), delay(STOP_MS, undefined, { ref: false })]);
  }
}
