/** `parley keys …`. Contract sections 3 and 17. */

import type { Db } from '../database/client.ts';
import { keyPrefix } from '../domain/api-key.ts';
import { type FoundKey, findKeys } from '../store/operator.ts';
import { revokeKeyAs } from '../store/operator-acts.ts';
import { commandLine } from '../store/operator-log.ts';
import { CommandError, type DatabaseCommand } from './command.ts';
import { table } from './table.ts';

const MIN_CHARACTERS = 3;
const PUBLIC_ID_LENGTH = 8;

/** The public ID in `parley_XXXXXXXX`, in its first characters, or in a whole key. Never repeats a secret. */
function publicIdIn(text: string): string {
  const [, id] = /^(?:parley_)?([0-9A-Za-z]{1,8})(?:_[0-9A-Za-z]{49})?$/.exec(text) ?? [];
  if (id === undefined || id.length < MIN_CHARACTERS)
    throw new CommandError(
      `This is not the prefix of a key. A prefix looks like parley_1A2b3C4d, with at least ${MIN_CHARACTERS} characters after parley_.`,
    );
  return id;
}

async function found(db: Db, prefix: string): Promise<FoundKey[]> {
  const publicId = publicIdIn(prefix);
  const keys = await findKeys(db, publicId);
  if (keys.length === 0) throw new CommandError(`There is no key with the prefix ${keyPrefix(publicId)}.`);
  return keys;
}

const shown = ({ accountId, lastUsed, created, ...key }: FoundKey) => ({
  ...key,
  account_id: accountId,
  created_at: created,
  last_used_at: lastUsed,
});

const find: DatabaseCommand = {
  name: 'keys find',
  summary: 'Find keys by their prefix, such as parley_1A2b3C4d, or by its first characters.',
  parameters: ['PREFIX'],
  run: async ({ db }, { positionals: [prefix = ''] }) => {
    const keys = await found(db, prefix);
    const rows = keys.map((key) => [
      key.prefix,
      key.state,
      key.email,
      key.name,
      key.scopes.join(','),
      key.lastUsed ?? 'never',
    ]);
    return {
      text: table(['PREFIX', 'STATE', 'ACCOUNT', 'NAME', 'SCOPES', 'LAST USED'], rows),
      value: { keys: keys.map(shown) },
    };
  },
};

const revoke: DatabaseCommand = {
  name: 'keys revoke',
  summary: 'Revoke the key with this prefix. This cannot be undone.',
  parameters: ['PREFIX'],
  run: async ({ db }, { positionals: [prefix = ''] }) => {
    const [key, ...others] = await found(db, prefix);
    if (key === undefined) throw new Error('A list that is not empty has no first element.');
    if (others.length > 0 || publicIdIn(prefix).length < PUBLIC_ID_LENGTH)
      throw new CommandError(
        `To revoke a key, enter its full prefix, such as ${key.prefix}. "parley keys find" lists the keys.`,
      );
    if (!(await revokeKeyAs(db, commandLine, key)))
      throw new CommandError(`The key ${key.prefix} of ${key.email} is not active (${key.state}).`);
    return {
      text: [`Revoked the key ${key.prefix} (${key.name}) of ${key.email}.`],
      value: shown({ ...key, state: 'revoked' }),
    };
  },
};

export const keyCommands: readonly DatabaseCommand[] = [find, revoke];
