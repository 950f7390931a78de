/** `npm run audit`: checks that the ledger and its counters agree. */
import { commandLine } from './command-line.ts';

await commandLine('audit');
