/** `npm run set-plan -- EMAIL PLAN PERIOD`: sets an account's plan, regardless of `BILLING`. */
import { commandLine } from './command-line.ts';

await commandLine('set-plan');
