// Reliability test 53: a sign-in does not reveal whether an account exists.
import t from 'tap';
import type { Client } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';

const TRIES = 200;

/**
 * The probability that a value of the first sample is larger than one of the second: 0.5 if both have the same source.
 * It depends only on the order, so outliers on a busy machine do not matter.
 */
function superiority(first: readonly number[], others: readonly number[]): number {
  let larger = 0;
  for (const one of first) for (const other of others) larger += one > other ? 1 : one === other ? 0.5 : 0;
  return larger / (first.length * others.length);
}

/** Four standard deviations for two samples of 100 from the same source. */
const NOISE = 0.17;

async function timeOf(client: Client, email: string): Promise<{ ms: number; body: string }> {
  const startedAt = performance.now();
  const answer = await client.post('/auth/login', { email, password: 'wrong password' });
  const ms = performance.now() - startedAt;
  t.equal(answer.status, 401);
  t.strictSame(answer.headers.getSetCookie(), []);
  const names = [...answer.headers.keys()].sort().join();
  return { ms, body: answer.text.replaceAll(answer.body.error.request_id, '') + names };
}

onEachDatabase(t, {}, async (t, { client }) => {
  const known = Array.from({ length: 10 }, () => `known-${crypto.randomUUID()}@example.com`);
  for (const email of known) await client.signUp(email);
  const unknown = known.map(() => `guess-${crypto.randomUUID()}@example.com`);
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
  const bodies = new Set<string>();
  for (let n = 0; n < 10; n += 1) await timeOf(client, 'warm-up@example.com');

  for (let n = 0; n < TRIES / 2; n += 1) {
    // Both requests of a pair run at about the same time, in random order.
    const pair = [
      ['known', known[n % 10]],
      ['unknown', unknown[n % 10]],
    ] as ['known' | 'unknown', string][];
    if (Math.random() < 0.5) pair.reverse();
    for (const [kind, email] of pair) {
      const { body, ms } = await timeOf(client, email);
      times[kind].push(ms);
      bodies.add(body);
    }
  }

  t.equal(bodies.size, 1, 'the same body and the same headers');
  const share = superiority(times.known, times.unknown);
  t.comment(`known email addresses take longer in ${(100 * share).toFixed(1)}% of all pairs`);
  t.ok(Math.abs(share - 0.5) < NOISE, `${share}`);
});
