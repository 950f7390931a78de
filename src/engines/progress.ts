/**
 * How far the work of a request has come in the engines, which know a request only by its signal. Contract sections 5
 * and 15.
 */
export type Progress = {
  /** Whether the built-in engine was called, or bytes may have reached an upstream. */
  isCalled: boolean;
  /** Requests to upstreams of which bytes may have reached them. */
  sent: number;
  /** Whether it waits for a connection to an upstream, or gave up waiting. */
  isQueued: boolean;
  /** How long it has waited for connections, in milliseconds. */
  queuedMs: number;
  /** Pieces of answers that upstreams sent, also of failed attempts. */
  heard: number;
};

const ofWork = new WeakMap<AbortSignal, Progress>();

export const trackProgress = (signal: AbortSignal): unknown =>
  ofWork.set(signal, { isCalled: false, sent: 0, isQueued: false, queuedMs: 0, heard: 0 });

/** Undefined for work of no request. */
export const progressOf = (signal: AbortSignal): Progress | undefined => ofWork.get(signal);

/** Work under `signal` is a part of the work under `whole`. */
export function continueProgress(signal: AbortSignal, whole: AbortSignal): void {
  const progress = ofWork.get(whole);
  if (progress !== undefined) ofWork.set(signal, progress);
}

/** Waits for a connection to an upstream with `wait`. */
export async function queued<T>(signal: AbortSignal, wait: () => Promise<T>): Promise<T> {
  const progress = ofWork.get(signal);
  if (progress === undefined) return wait();
  const startedAt = performance.now();
  progress.isQueued = true;
  try {
    const connection = await wait();
    progress.isQueued = false;
    return connection;
  } finally {
    progress.queuedMs += performance.now() - startedAt;
  }
}

/** Call it when the built-in engine begins with the work. */
export function noteCalled(signal: AbortSignal): void {
  const progress = ofWork.get(signal);
  if (progress !== undefined) progress.isCalled = true;
}
