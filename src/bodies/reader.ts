/** Receives bodies within limits on size, memory, and time. Contract section 6, reliability test 48. */
import type { IncomingMessage } from 'node:http';
import { Blocks } from './blocks.ts';
import type { Budget, Share } from './budget.ts';
import {
  MIN_BYTES_PER_SECOND,
  MIN_CHUNK_BYTES,
  UNMEASURED_CHUNKS,
  UNMEASURED_MS,
  UNPACED_BYTES,
} from './limits.ts';
import { Pace, READ_PER_SLICE } from './pace.ts';

export type Refusal = 'tooLarge' | 'noMemory' | 'tooSlow' | 'tinyChunks' | 'brokenOff' | 'wrongLength';

export class ReadError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(`The body was refused: ${refusal}.`);
    this.name = 'ReadError';
    this.refusal = refusal;
  }
}

/** A received body. It counts against the budget until it is released. */
export type Received = { body: Blocks; release(): void };

export type Reading = {
  /** The largest body, in bytes. */
  limit: number;
  sender: string;
};

const CHECK_MS = 1000;

export function announcedLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

type Measured = { startedAt: number; received: number; isLate: boolean; giveUp(): void };

export class BodyReader {
  readonly #budget: Budget;
  readonly #pace = new Pace(READ_PER_SLICE);
  readonly #open = new Set<Measured>();
  #timer: NodeJS.Timeout | undefined;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** Receives a body. After a ReadError, received data is dropped and the rest stays unread. */
  async read(stream: IncomingMessage, { limit, sender }: Reading): Promise<Received> {
    const announced = announcedLength(stream);
    if (announced !== undefined && announced > limit) throw new ReadError('tooLarge');
    const share = this.#budget.share(sender);
    let fits = announced === undefined || share.fits(announced);
    if (typeof fits !== 'boolean') {
      fits = await fits;
      // The client may have disconnected meanwhile.
      if (stream.destroyed) throw new ReadError('brokenOff');
    }
    if (!fits) throw new ReadError('noMemory');
    return this.#receive(stream, share, announced, limit);
  }

  #receive(
    stream: IncomingMessage,
    share: Share,
    announced: number | undefined,
    limit: number,
  ): Promise<Received> {
    return new Promise((resolve, reject) => {
      const body = new Blocks(announced);
      let isOver = false;
      let chunks = 0;
      const measured: Measured = {
        startedAt: performance.now(),
        received: 0,
        isLate: false,
        giveUp: () => refuse('tooSlow'),
      };
      const stop = () => {
        isOver = true;
        this.#open.delete(measured);
        this.#pace.forget(stream);
        stream.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      };
      const refuse = (refusal: Refusal) => {
        stop();
        share.release();
        stream.pause();
        reject(new ReadError(refusal));
      };
      /** Whether a piece is waiting for the budget. */
      let isWaiting = false;
      let hasEnded = false;
      const onBroken = () => {
        if (!hasEnded) refuse('brokenOff');
      };
      const onData = (piece: Buffer) => {
        measured.received += piece.length;
        if (measured.received > limit) return refuse('tooLarge');
        const room = share.take(piece.length);
        if (typeof room === 'boolean') return add(piece, room);
        // No other piece arrives before the budget responds, but the end of the body may.
        stream.pause();
        isWaiting = true;
        void room.then((hasRoom) => {
          isWaiting = false;
          if (isOver) return;
          stream.resume();
          add(piece, hasRoom);
          if (hasEnded && !isOver) onEnd();
        });
      };
      const add = (piece: Buffer, hasRoom: boolean) => {
        if (!hasRoom) refuse('noMemory');
        else if (++chunks > UNMEASURED_CHUNKS && measured.received < chunks * MIN_CHUNK_BYTES)
          refuse('tinyChunks');
        else {
          body.add(piece);
          const isLarge = measured.received > UNPACED_BYTES;
          if (isLarge && measured.received !== announced) this.#pace.count(stream, piece.length);
        }
      };
      const onEnd = () => {
        hasEnded = true;
        if (isWaiting) return;
        if (announced !== undefined && announced !== measured.received) return refuse('wrongLength');
        stop();
        resolve({ body, release: share.release });
      };
      stream.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
      this.#open.add(measured);
      this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Rejects bodies that were too slow in two checks in a row. One slow check may be this process's own delay. */
  #check(): void {
    const now = performance.now();
    for (const body of this.#open) {
      const ms = now - body.startedAt;
      const isLate = ms > UNMEASURED_MS && body.received < (ms / 1000) * MIN_BYTES_PER_SECOND;
      if (isLate && body.isLate) body.giveUp();
      else body.isLate = isLate;
    }
  }
}
