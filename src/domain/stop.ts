/** The abort reason of work that a client stopped. Contract section 16. */
export class Stop extends Error {
  /** Whether this interrupted the engine. False if the engine had already finished. */
  isEffective = false;

  constructor() {
    super('The client stopped the request.');
    this.name = 'Stop';
  }
}

/** Whether a client stopped the work under this signal before the engine finished. */
export const wasStopped = ({ reason }: AbortSignal): boolean => reason instanceof Stop && reason.isEffective;
