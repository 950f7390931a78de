/** `npm run set-plan -- EMAIL PLAN PERIOD`: puts an account on a plan, whatever `BILLING` says. */
import { commandLine } from './command-line.ts';

await commandLine('set-plan');
