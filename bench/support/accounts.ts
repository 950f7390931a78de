/** Accounts and keys for a service under load. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

type Limits = Record<'chat' | 'images' | 'search', number | null>;

/** The environment of a service without sign-up limits, and without quotas unless `limits` sets them. */
export function withoutCeilings(limits: Limits = { chat: null, images: null, search: null }): {
  env: Record<string, string>;
  remove(): void;
} {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-bench-'));
  const file = path.join(folder, 'plans.json');
  const plan = {
    id: 'bench',
    name: 'Bench',
    currency: 'USD',
    monthly_price_cents: 0,
    limits,
    requests_per_minute: 1_000_000,
  };
  fs.writeFileSync(file, JSON.stringify({ data: [plan] }));
  return {
    env: { PLANS_FILE: file, AUTH_ATTEMPTS_PER_MINUTE: '10000' },
    remove: () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}

async function post(url: string, body: unknown, cookie = '', method = 'POST'): Promise<Response> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}

/**
 * Creates accounts, each with a key.
 *
 * @param plan - the plan of the accounts, if not the default
 * @returns the keys
 */
export async function makeKeys(
  origin: string,
  count: number,
  plan?: string,
  scopes = ['chat'],
): Promise<string[]> {
  const keys: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const account = { email: `bench-${number}@example.com`, password: 'correct horse battery' };
    const signedUp = await post(`${origin}/api/v1/auth/signup`, account);
    const cookie = signedUp.headers.getSetCookie()[0]?.split(';')[0];
    if (plan !== undefined)
      await post(`${origin}/api/v1/subscription`, { plan, billing_period: 'monthly' }, cookie, 'PUT');
    const made = await post(`${origin}/api/v1/keys`, { name: 'Bench', scopes }, cookie);
    keys.push(((await made.json()) as { key: string }).key);
  }
  return keys;
}
