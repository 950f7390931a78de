import type { Channel } from './channel.ts';
import type { PrimaryMethods } from './methods.ts';

/** Describes a worker among several. */
export type Membership = {
  /** From 1. A replacement worker has the number of its predecessor. */
  number: number;
  workers: number;
  /** 12 hexadecimal digits that all workers of one primary share. */
  service: string;
  primary: Channel<PrimaryMethods>;
};
