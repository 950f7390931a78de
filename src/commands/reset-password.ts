/** `npm run reset-password -- EMAIL`: sets a random password, shows it once, and ends the account's sessions. */
import { commandLine } from './command-line.ts';

await commandLine('reset-password');
