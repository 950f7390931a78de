/**
 * The progress of a request within the engines, which know a request only by its signal. Contract sections 5 and 15.
 */
export type Progress = {
  /** Whether the built-in engine was called, or bytes may have reached an upstream. */
  isCalled: boolean;
  /** How many requests may have reached an upstream, in whole or in part. */
  sent: number;
  /** Whether the request is waiting for a connection to an upstream, or gave up waiting. */
  isQueued: boolean;
  /** Total time that the request has waited for connections, in milliseconds. */
  queuedMs: number;
  /** How many pieces (headers or data) upstreams have sent, including those of failed attempts. */
  received: number;
};

const ofWork = new WeakMap<AbortSignal, Progress>();

export const trackProgress = (signal: AbortSignal): unknown =>
  ofWork.set(signal, { isCalled: false, sent: 0, isQueued: false, queuedMs: 0, received: 0 });

/** Undefined if the work belongs to no request. */
export const progressOf = (signal: AbortSignal): Progress | undefined => ofWork.get(signal);

/** Makes the work under `signal` count as part of the work under `whole`. */
export function continueProgress(signal: AbortSignal, whole: AbortSignal): void {
  const progress = ofWork.get(whole);
  if (progress !== undefined) ofWork.set(signal, progress);
}

/** Calls `wait` to get a connection, and records the time that it takes. */
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

/** Call it when the built-in engine begins to work. */
export function noteCalled(signal: AbortSignal): void {
  const progress = ofWork.get(signal);
  if (progress !== undefined) progress.isCalled = true;
}
