/** `npm run reset-password -- EMAIL`: gives an account a new random password, shown once, and ends its sessions. */
import { commandLine } from './command-line.ts';

await commandLine('reset-password');
