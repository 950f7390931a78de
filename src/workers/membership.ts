import type { Channel } from './channel.ts';
import type { PrimaryMethods } from './methods.ts';

/** What makes a process one of several workers. */
export type Membership = {
  /** From 1. A worker that replaces another one has the same number. */
  number: number;
  workers: number;
  /** The same for all workers of a primary: 12 hexadecimal digits. */
  service: string;
  primary: Channel<PrimaryMethods>;
};
