/** A client's wish to end the work of a request. Contract section 16. */
export class Stop extends Error {
  /** Whether the engine's work was cut short. False if it had ended by itself. */
  isEffective = false;

  constructor() {
    super('The client stopped the request.');
    this.name = 'Stop';
  }
}

/** Whether work under this signal was stopped, in time to make a difference. */
export const wasStopped = ({ reason }: AbortSignal): boolean => reason instanceof Stop && reason.isEffective;
