/** Operators of a service that was started with `operatorEnv`. */
import assert from 'node:assert/strict';
import { runOperatorCommand } from '../../src/commands/operator.ts';
import { cookieOf } from './dashboard.ts';
import type { Client, Owner } from './http.ts';
import type { TestService } from './service.ts';

/** The password of every account in these tests. */
export const password = 'correct horse battery';
const MAX_OPERATORS = 5000;

const addressOf = (number: number) => `operator-${number}@example.com`;

/** The environment of a service with operators. */
export const operatorEnv = {
  OPERATORS: Array.from({ length: MAX_OPERATORS }, (_, number) => addressOf(number)).join(','),
};

const made = new WeakMap<object, number>();

/**
 * Signs in as a new operator. The command line creates the account, because nobody can sign up with an operator's
 * address.
 */
export async function signInOperator({
  app,
  client,
  database,
}: Pick<TestService, 'app' | 'client' | 'database'>): Promise<Owner> {
  const number = made.get(app) ?? 0;
  made.set(app, number + 1);
  assert.ok(number < MAX_OPERATORS);
  const context = { db: database.db, config: app.config };
  const [line = ''] = await runOperatorCommand(context, 'accounts create', [addressOf(number)]);
  const given = line.split(' ').at(-1) ?? '';
  const owner = await signInWith(client, addressOf(number), given);
  const change = { current_password: given, new_password: password };
  const { cookie } = owner;
  return {
    ...owner,
    password,
    cookie: cookieOf(await client.post('/account/password', change, { cookie })),
  };
}

/** Signs in to an account. Returns it with the new session's cookie. */
export async function signInWith(client: Client, email: string, secret: string): Promise<Owner> {
  const answer = await client.post('/auth/login', { email, password: secret });
  assert.equal(answer.status, 200, answer.text);
  return { email, password: secret, cookie: cookieOf(answer), accountId: answer.body.id };
}
