/** A load of chat completions, one concurrent request per key. */
export class Completions {
  requests = 0;
  #isOver = false;
  #senders: Promise<void>[] = [];

  start(origin: string, keys: readonly string[]): void {
    this.#isOver = false;
    this.#senders = keys.map((key) => this.#send(origin, key));
  }

  /** Resolves once no request is in flight. Rejects if a response was not 200. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#senders);
  }

  async #send(origin: string, key: string): Promise<void> {
    while (!this.#isOver) {
      const response = await fetch(`${origin}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ messages: [{ role: 'user', content: 'How do I create a key?' }] }),
      });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`The service returned ${response.status}.`);
      this.requests += 1;
    }
  }
}
