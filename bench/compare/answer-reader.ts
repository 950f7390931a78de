/** A minimal HTTP/1.1 parser for the load client. Reads responses from one connection, one at a time. */

export type Answer = { status: number; isComplete: boolean };

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '\r\n0\r\n\r\n';

export class AnswerReader {
  readonly #ending: string | undefined;
  #head = '';
  #status = 0;
  /** The remaining bytes of the body. Negative if the body is chunked. */
  #left = 0;
  #tail = '';
  /** Whether a byte of the current response body has arrived. */
  hasBody = false;

  /** @param ending - the last bytes of a complete body, if known */
  constructor(ending: string | undefined) {
    this.#ending = ending;
  }

  /** Returns the response once a chunk completes it. */
  read(chunk: Buffer): Answer | undefined {
    const body = this.#status === 0 ? this.#readHead(chunk) : chunk;
    if (body === undefined) return undefined;
    this.hasBody ||= body.length > 0;
    if (this.#left < 0 || this.#ending !== undefined)
      this.#tail = (this.#tail + body.toString('latin1', Math.max(0, body.length - 64))).slice(-64);
    if (this.#left < 0) return this.#tail.endsWith(LAST_CHUNK) ? this.#done(true) : undefined;
    this.#left -= body.length;
    return this.#left === 0 ? this.#done(false) : undefined;
  }

  /** Returns the part of the chunk that belongs to the body, or undefined until the head is complete. */
  #readHead(chunk: Buffer): Buffer | undefined {
    const before = this.#head.length;
    if (before === 0) this.hasBody = false;
    this.#head += chunk.toString('latin1');
    const end = this.#head.indexOf(HEAD_END);
    if (end < 0) return undefined;
    const head = this.#head.slice(0, end + 2);
    this.#status = Number(head.slice(9, 12));
    const [, length] = /\r\ncontent-length: *(\d+)\r\n/i.exec(head) ?? [];
    this.#left = length === undefined ? -1 : Number(length);
    this.#head = '';
    return chunk.subarray(end + HEAD_END.length - before);
  }

  #done(isChunked: boolean): Answer {
    const body = isChunked ? this.#tail.slice(0, -LAST_CHUNK.length) : this.#tail;
    // The tail may contain chunk headers, but it still ends with the last bytes of the body.
    const answer = { status: this.#status, isComplete: body.endsWith(this.#ending ?? '') };
    this.#status = 0;
    this.#tail = '';
    return answer;
  }
}
