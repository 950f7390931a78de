/** Creates, uses, and revokes keys under faults. Each acknowledged change must last. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Owner } from '../support/http.ts';
import { apiOrigin } from './edge.ts';

type Key = { id: string; key: string };
/** How long a revoked key may still be accepted: contract section 3. */
const STALE_MS = 1000;
const PAUSE_MS = 300;
const TIMEOUT_MS = 15_000;
/** The number of keys to keep. Below the limit of five, because creations whose response was lost also count. */
const HELD = 3;

/** The keys of one account, and the violations in `faults`. */
export class KeyHistory {
  readonly faults: string[] = [];
  requests = 0;
  created = 0;
  revoked = 0;
  failed = 0;
  readonly #owner: Owner;
  readonly #held: Key[] = [];
  readonly #ended: (Key & { at: number })[] = [];

  private constructor(owner: Owner) {
    this.#owner = owner;
  }

  static async prepare(client: Client): Promise<KeyHistory> {
    return new KeyHistory(await client.signUp());
  }

  /** Creates, uses, and revokes keys until `isOver` returns true. Records violations in `faults`. */
  async run(isOver: () => boolean): Promise<void> {
    for (let n = 0; !isOver(); n += 1) {
      if (this.#held.length < HELD) await this.#create();
      else if (n % 3 === 0) await this.#revoke();
      else await this.#use();
      await sleep(PAUSE_MS);
    }
  }

  /** Checks on each replica that created keys work and revoked keys do not. Records violations in `faults`. */
  async check(origins: readonly string[]): Promise<void> {
    const now = performance.now();
    for (const origin of origins) {
      for (const { id, key } of this.#held) {
        const status = (await this.#call('GET', '/models', { key }, origin))?.status;
        if (status !== 200) this.faults.push(`Key ${id} was created, but ${origin} returns ${status}`);
      }
      for (const { at, id, key } of this.#ended) {
        const status = (await this.#call('GET', '/models', { key }, origin))?.status;
        if (status !== 401)
          this.faults.push(
            `Key ${id} was revoked ${Math.round(now - at)} ms earlier, but ${origin} returns ${status}`,
          );
      }
    }
  }

  async #create(): Promise<void> {
    const answer = await this.#call('POST', '/keys', { body: { name: 'Key', scopes: ['chat', 'models'] } });
    if (answer?.status === 201) {
      this.created += 1;
      this.#held.push((await answer.json()) as Key);
    } else if (answer?.status === 429) await this.#tidy();
  }

  /** Revokes keys whose creation was never acknowledged. */
  async #tidy(): Promise<void> {
    const answer = await this.#call('GET', '/keys');
    if (answer?.status !== 200) return;
    const { data } = (await answer.json()) as { data: { id: string }[] };
    const unknown = data.filter(({ id }) => this.#held.every((key) => key.id !== id));
    for (const { id } of unknown) await this.#call('DELETE', `/keys/${id}`);
  }

  async #revoke(): Promise<void> {
    // Even if the request fails, the key may be revoked from now on.
    const key = this.#held.shift() as Key;
    const answer = await this.#call('DELETE', `/keys/${key.id}`);
    if (answer?.status !== 204) return;
    this.revoked += 1;
    this.#ended.push({ ...key, at: performance.now() });
  }

  async #use(): Promise<void> {
    for (const { id, key } of this.#held.slice(0, 1)) {
      const status = (await this.#call('GET', '/models', { key }))?.status;
      if (status === 401) this.faults.push(`Key ${id} was created, but is rejected`);
    }
    const sentAt = performance.now();
    const ended = this.#ended.findLast(({ at }) => sentAt - at > STALE_MS);
    if (ended === undefined) return;
    const status = (await this.#call('GET', '/models', { key: ended.key }))?.status;
    if (status === 200)
      this.faults.push(
        `Key ${ended.id} was accepted ${Math.round(sentAt - ended.at)} ms after its revocation`,
      );
  }

  async #call(
    method: string,
    path: string,
    { body, key }: { body?: object; key?: string } = {},
    origin = apiOrigin,
  ): Promise<Response | undefined> {
    this.requests += 1;
    try {
      const response = await fetch(`${origin}/api/v1${path}`, {
        method,
        headers: {
          ...(key === undefined ? { cookie: this.#owner.cookie } : { authorization: `Bearer ${key}` }),
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (response.status >= 500) this.failed += 1;
      // Read the body here, so that no later read fails and no connection stays busy.
      const text = await response.text();
      return new Response(response.status === 204 ? null : text, { status: response.status });
    } catch {
      this.failed += 1;
      return undefined;
    }
  }
}
