import { once } from 'node:events';

/** A gate for asynchronous code: after `hold()`, calls of `pass()` wait until `release()`. */
export class Gate {
  #events = new EventTarget();
  #isOpen = true;
  hold() {
    this.#isOpen = false;
  }
  release() {
    this.#isOpen = true;
    this.#events.dispatchEvent(new Event('open'));
  }
  async pass() {
    if (!this.#isOpen) await once(this.#events, 'open');
  }
}
