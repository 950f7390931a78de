/**
 * How far the work of a request has come in the engines, which know a request only by its signal. Contract sections 5
 * and 15.
 */
export type Progress = {
  /** Whether the built-in engine was called, or bytes may have reached an upstream. */
  isCalled: boolean;
  /** Requests to upstreams of which bytes may have reached them. */
  sent: number;
  /** Pieces of answers that upstreams sent, also of failed attempts. */
  heard: number;
};

const ofWork = new WeakMap<AbortSignal, Progress>();

export const trackProgress = (signal: AbortSignal): unknown =>
  ofWork.set(signal, { isCalled: false, sent: 0, heard: 0 });

/** Undefined for work of no request. */
export const progressOf = (signal: AbortSignal): Progress | undefined => ofWork.get(signal);

/** Work under `signal` is a part of the work under `whole`. */
export function continueProgress(signal: AbortSignal, whole: AbortSignal): void {
  const progress = ofWork.get(whole);
  if (progress !== undefined) ofWork.set(signal, progress);
}

/** Call it when the built-in engine begins with the work. */
export function noteCalled(signal: AbortSignal): void {
  const progress = ofWork.get(signal);
  if (progress !== undefined) progress.isCalled = true;
}
