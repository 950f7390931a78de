/**
 * Connections on their way to a worker. Node forgets one that a worker died without taking, and its client would wait
 * for ever. Relies on the messages of `node:cluster`, which have no other interface.
 */
import type { Worker } from 'node:cluster';

type Handle = { close(): void };
type Message = { act?: string; seq?: number; ack?: number; accepted?: boolean };
type Process = {
  send(message: Message, handle?: Handle, ...rest: unknown[]): boolean;
  on(event: 'internalMessage', listener: (message: Message) => void): void;
};

/** Numbers of this module. Those of `node:cluster` are not negative. */
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
      // Node closes its own.
      if (ack < 0 && accepted) this.#untaken.get(ack)?.handle.close();
      this.#untaken.delete(ack);
    });
  }

  /** The worker has ended: hands its connections to another one, or closes them. */
  moveTo(other: UntakenConnections | undefined): void {
    for (const { handle, message } of this.#untaken.values()) {
      number -= 1;
      if (other === undefined) handle.close();
      else other.#process.send({ ...message, seq: number }, handle);
    }
    this.#untaken.clear();
  }
}
