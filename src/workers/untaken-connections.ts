/**
 * Connections that are being passed to a worker. If the worker dies before it takes one, Node forgets the connection,
 * and its client would wait forever. Relies on messages of `node:cluster`, which has no other interface for this.
 */
import type { Worker } from 'node:cluster';

type Handle = { close(): void };
type Message = { act?: string; seq?: number; ack?: number; accepted?: boolean };
type Process = {
  send(message: Message, handle?: Handle, ...rest: unknown[]): boolean;
  on(event: 'internalMessage', listener: (message: Message) => void): void;
};

/** The last number used by this module. It counts down, because numbers of `node:cluster` are not negative. */
let number = 0;

export class UntakenConnections {
  readonly #process: Process;
  readonly #untaken = new Map<number, { message: Message; handle: Handle }>();

  constructor(worker: Worker) {
    this.#process = worker.process as unknown as Process;
    const send = this.#process.send.bind(worker.process);
    this.#process.send = (message, handle, ...rest) => {
      if (message.act === 'newconn' && message.seq !== undefined && handle !== undefined)
        this.#untaken.set(message.seq, { message, handle });
      return send(message, handle, ...rest);
    };
    this.#process.on('internalMessage', ({ accepted, ack }) => {
      if (ack === undefined) return;
      // Node closes its own handles.
      if (ack < 0 && accepted) this.#untaken.get(ack)?.handle.close();
      this.#untaken.delete(ack);
    });
  }

  /** Call it when the worker has ended. Passes its connections to another worker, or closes them. */
  moveTo(other: UntakenConnections | undefined): void {
    for (const { handle, message } of this.#untaken.values()) {
      number -= 1;
      if (other === undefined) handle.close();
      else other.#process.send({ ...message, seq: number }, handle);
    }
    this.#untaken.clear();
  }
}
