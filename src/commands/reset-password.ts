/** `npm run reset-password` runs `parley accounts reset-password`. */
import { commandLine } from './command-line.ts';
import { commandNamed } from './operator.ts';

await commandLine(commandNamed('reset-password'), process.argv.slice(2));
