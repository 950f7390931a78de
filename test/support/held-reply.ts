/** Holds a reply of the chat engine, so that a test can look at the service while a request runs. */
import type { Test } from 'tap';
import type { ChatEngine } from '../../src/engines/types.ts';

export type HeldReply = {
  /** Resolves when the engine is called. */
  called: Promise<void>;
  /** Lets the engine reply. */
  release(): void;
};

/** Holds the next reply that is not streamed until it is released, or the test ends. */
export function holdNextReply(t: Test, engine: ChatEngine): HeldReply {
  const { complete } = engine;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  t.teardown(release);
  const called = new Promise<void>((resolve) => {
    engine.complete = async (...args) => {
      engine.complete = complete;
      resolve();
      await released;
      return complete(...args);
    };
  });
  return { called, release };
}
