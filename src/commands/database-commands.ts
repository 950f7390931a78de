/** The commands that run in the process that holds the database. */
import { accountCommands } from './accounts.ts';
import { backup } from './backup.ts';
import type { DatabaseCommand } from './command.ts';
import { keyCommands } from './keys.ts';
import { ledgerCommands } from './ledger.ts';
import { operatorLog } from './operator-log.ts';
import { upstreamCommands } from './upstreams.ts';

export const databaseCommands: readonly DatabaseCommand[] = [
  ...accountCommands,
  ...keyCommands,
  ...ledgerCommands,
  operatorLog,
  ...upstreamCommands,
  backup,
];
