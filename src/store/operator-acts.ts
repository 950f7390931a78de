/** Changes by operators, each with a row in their log. The command line and the API use them. Contract section 17. */
import type { BillingPeriod } from '../../schemas/plans.ts';
import type { Db } from '../database/client.ts';
import { keyPrefix } from '../domain/api-key.ts';
import {
  type Account,
  createAccount,
  deleteAccount,
  findAccount,
  setPlan,
  setSuspended,
  updatePassword,
} from './accounts.ts';
import { revokeKey } from './keys.ts';
import { type FoundKey, findKeys } from './operator.ts';
import { logged, type Operator, type OperatorAct } from './operator-log.ts';

type NewAccount = Pick<Account, 'email' | 'passwordHash' | 'plan' | 'billingPeriod'>;

const planText = ({ billingPeriod, plan }: Pick<Account, 'billingPeriod' | 'plan'>): string =>
  `${plan}, ${billingPeriod}`;

/** @throws ApiError `emailTaken` */
export async function createAccountAs(db: Db, operator: Operator, account: NewAccount): Promise<Account> {
  const created = await logged(db, operator, async (tx) => {
    const { billingPeriod, ...rest } = account;
    const made = await createAccount(tx, rest, null);
    const result = await setPlan(tx, made.id, made.plan, billingPeriod, null);
    if (result === undefined) throw new Error('The account vanished in its own transaction.');
    return { result, act: { action: 'accountCreated', account: result, detail: planText(result) } };
  });
  if (created === undefined) throw new Error('An account that was created is missing.');
  return created;
}

/** Makes a change and logs it. Returns undefined if the account no longer exists. */
const changed = (
  db: Db,
  operator: Operator,
  change: (tx: Db) => Promise<Account | undefined>,
  actOf: (account: Account) => Omit<OperatorAct, 'account'>,
): Promise<Account | undefined> =>
  logged(db, operator, async (tx) => {
    const result = await change(tx);
    return result && { result, act: { ...actOf(result), account: result } };
  });

export type AccountChange = { plan?: string; billingPeriod?: BillingPeriod; isSuspended?: boolean };

/** Makes all changes or none, and logs each. Returns undefined if the account no longer exists. */
export function changeAccountAs(
  db: Db,
  operator: Operator,
  id: string,
  { billingPeriod, isSuspended, plan }: AccountChange,
): Promise<Account | undefined> {
  return db.transaction(async (tx) => {
    let account = await findAccount(tx, id);
    if (account !== undefined && (plan !== undefined || billingPeriod !== undefined)) {
      const next = { plan: plan ?? account.plan, billingPeriod: billingPeriod ?? account.billingPeriod };
      account = await changed(
        tx,
        operator,
        (inner) => setPlan(inner, id, next.plan, next.billingPeriod, null),
        (updated) => ({ action: 'planChanged', detail: planText(updated) }),
      );
    }
    if (account !== undefined && isSuspended !== undefined)
      account = await changed(
        tx,
        operator,
        (inner) => setSuspended(inner, id, isSuspended),
        () => ({ action: isSuspended ? 'accountSuspended' : 'accountResumed' }),
      );
    return account;
  });
}

/** Returns undefined if the password has changed meanwhile or the account no longer exists. */
export const resetPasswordAs = (
  db: Db,
  operator: Operator,
  account: Account,
  passwordHash: string,
): Promise<Account | undefined> =>
  changed(
    db,
    operator,
    (tx) => updatePassword(tx, account, passwordHash, null),
    () => ({ action: 'passwordReset' }),
  );

/** Returns false if the account has changed meanwhile or no longer exists. */
export async function deleteAccountAs(db: Db, operator: Operator, account: Account): Promise<boolean> {
  const deleted = await changed(
    db,
    operator,
    async (tx) => ((await deleteAccount(tx, account)) ? account : undefined),
    () => ({ action: 'accountDeleted' }),
  );
  return deleted !== undefined;
}

/** Returns false if the key is not active. */
export async function revokeKeyAs(db: Db, operator: Operator, key: FoundKey): Promise<boolean> {
  const revoked = await logged(db, operator, async (tx) => {
    if (!(await revokeKey(tx, key, null))) return undefined;
    const account = { id: key.accountId, email: key.email };
    return { result: key, act: { action: 'keyRevoked', account, detail: `${key.prefix}, ${key.name}` } };
  });
  return revoked !== undefined;
}

/** Finds the key with a public ID, current or replaced. */
export async function findKeyByPublicId(db: Db, publicId: string): Promise<FoundKey | undefined> {
  const found = await findKeys(db, publicId);
  return found.find(({ prefix }) => prefix === keyPrefix(publicId));
}
