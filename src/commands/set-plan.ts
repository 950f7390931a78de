/** `npm run set-plan` runs `parley accounts set-plan`. */
import { commandLine } from './command-line.ts';
import { commandNamed } from './operator.ts';

await commandLine(commandNamed('set-plan'), process.argv.slice(2));
