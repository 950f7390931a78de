/** Calls between the primary and a worker, over the channel of `node:cluster`. docs/decisions/0034-workers.md. */

// biome-ignore lint/suspicious/noExplicitAny: any parameters, which each method declares.
export type Methods = Record<string, (...args: any[]) => unknown>;

/** `[number, method, arguments]` is a call; number 0 expects no result. `[number, result]` is a result. */
type Message = [number, string, unknown[]] | [number, unknown];

type Send = (messages: { parley: Message[] }) => void;

type Answer<M extends Methods, Name extends keyof M> = Awaited<ReturnType<M[Name]>> | undefined;

/**
 * One end of a channel. `Theirs` are the methods of the other end. Messages of one turn of the event loop are sent
 * together. Under load, a message then costs much less than a system call.
 */
export class Channel<Theirs extends Methods> {
  readonly #send: Send;
  readonly #own: Methods;
  readonly #pending = new Map<number, (answer: unknown) => void>();
  #queue: Message[] = [];
  #number = 0;
  #isClosed = false;

  /** @param own - the methods that the other end may call */
  constructor(send: Send, own: Methods) {
    this.#send = send;
    this.#own = own;
  }

  /** Calls a method. Resolves to undefined if the other end has exited or the method fails. */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    ...args: Parameters<Theirs[Name]>
  ): Promise<Answer<Theirs, Name>> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#number += 1;
      this.#pending.set(this.#number, resolve as (answer: unknown) => void);
      this.#put([this.#number, name, args]);
    });
  }

  /** Like `ask`, without a result. */
  notify<Name extends keyof Theirs & string>(name: Name, ...args: Parameters<Theirs[Name]>): void {
    this.#put([0, name, args]);
  }

  /** Call it with every message that arrives. Ignores messages of other senders. */
  receive(message: unknown): void {
    const { parley: messages } = (message ?? {}) as { parley?: Message[] };
    for (const one of messages ?? []) {
      if (one.length === 2) this.#resolve(...one);
      else void this.#answer(...one);
    }
  }

  /** Call it once the other end has exited. Pending calls resolve to undefined. */
  close(): void {
    this.#isClosed = true;
    for (const resolve of this.#pending.values()) resolve(undefined);
    this.#pending.clear();
  }

  #resolve(number: number, answer: unknown): void {
    this.#pending.get(number)?.(answer ?? undefined);
    this.#pending.delete(number);
  }

  async #answer(number: number, name: string, args: unknown[]): Promise<void> {
    let answer: unknown;
    try {
      answer = await this.#own[name]?.(...args);
    } catch (error) {
      // A bug in a method must not crash all workers.
      process.emitWarning(error as Error);
    }
    if (number !== 0) this.#put([number, answer ?? null]);
  }

  #put(message: Message): void {
    if (this.#isClosed) return;
    if (this.#queue.length === 0) setImmediate(() => this.#flush());
    this.#queue.push(message);
  }

  #flush(): void {
    const parley = this.#queue;
    this.#queue = [];
    if (!this.#isClosed) this.#send({ parley });
  }
}
