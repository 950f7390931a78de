/** All commands of `parley`, in the order of its help. */
import { accountCommands } from './accounts.ts';
import { backup } from './backup.ts';
import type { Command } from './command.ts';
import { keyCommands } from './keys.ts';
import { ledgerCommands } from './ledger.ts';

export const commands: readonly Command[] = [...accountCommands, ...keyCommands, ...ledgerCommands, backup];
