/** `npm run audit` runs `parley audit`. */
import { commandLine } from './command-line.ts';
import { commandNamed } from './operator.ts';

await commandLine(commandNamed('audit'), process.argv.slice(2));
