/** All `parley` commands, in the order of the help. */
import type { Command } from './command.ts';
import { databaseCommands } from './database-commands.ts';
import { doctor } from './doctor/index.ts';
import { transferCommands } from './transfer/index.ts';

export const commands: readonly Command[] = [...databaseCommands, ...transferCommands, doctor];
