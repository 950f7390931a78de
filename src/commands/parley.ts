/** `npx parley` runs the operator's commands. Contract section 17. */
import { version } from '../project.ts';
import { commandOf, overviewOf } from './arguments.ts';
import { exitCodes } from './command.ts';
import { commandLine } from './command-line.ts';
import { commands } from './index.ts';

const args = process.argv.slice(2);
const { command, rest } = commandOf(commands, args);
const [first] = args;

if (command !== undefined) await commandLine(command, rest);
else if (first === '--version') console.log(version);
else if (first === '--help' || first === 'help') console.log(overviewOf(commands).join('\n'));
else {
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  console.error(overviewOf(group.length > 0 ? group : commands).join('\n'));
  process.exitCode = exitCodes.wrongUsage;
}
