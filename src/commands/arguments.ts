/** The arguments of commands, and help texts about them. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Command, type Input, type Option, UsageError } from './command.ts';

const everywhere: Readonly<Record<string, Option>> = {
  json: { type: 'boolean', help: 'print JSON' },
  help: { type: 'boolean', help: 'show this help' },
};

const optionsOf = ({ options = {} }: Command) => ({ ...options, ...everywhere });

const spelled = (name: string, { value }: Option) => `--${name}${value === undefined ? '' : ` ${value}`}`;

/** Returns the usage line, such as `npx parley accounts show EMAIL [--json]`. */
export function usageOf(command: Command): string {
  const { help: _help, ...options } = optionsOf(command);
  const optional = Object.entries(options).map(([name, option]) => `[${spelled(name, option)}]`);
  return ['npx parley', command.name, ...command.parameters, ...optional].join(' ');
}

const columns = (rows: readonly (readonly [string, string])[]): string[] => {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`);
};

export function helpOf(command: Command): string[] {
  const rows = Object.entries(optionsOf(command)).map(
    ([name, option]) => [spelled(name, option), option.help] as const,
  );
  const details = command.details === undefined ? [] : ['', ...command.details];
  return [command.summary, '', `Usage: ${usageOf(command)}`, ...details, '', ...columns(rows)];
}

export function overviewOf(commands: readonly Command[]): string[] {
  return [
    'Usage: npx parley COMMAND [--json] [--help]',
    '',
    ...columns(commands.map(({ name, parameters, summary }) => [[name, ...parameters].join(' '), summary])),
    '',
    'The commands use the same DATABASE_URL or DATA_DIR as the service.',
    'Exit status: 0 success, 1 failure or problems found, 2 usage error.',
  ];
}

/** Finds the command named by the first one or two arguments. Returns it with the remaining arguments. */
export function commandOf(
  commands: readonly Command[],
  args: readonly string[],
): { command: Command | undefined; rest: string[] } {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ');
    const command = commands.find((one) => one.name === name);
    if (command !== undefined) return { command, rest: args.slice(words) };
  }
  return { command: undefined, rest: [...args] };
}

/** @throws UsageError with the usage */
export function parseInput(command: Command, args: readonly string[]): Input {
  const options = Object.fromEntries(
    Object.entries(optionsOf(command)).map(([name, { type }]) => [name, { type }]),
  );
  const wrong = (problem: string) => new UsageError(`${problem} Usage: ${usageOf(command)}`);
  let parsed: { values: Input['options']; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true }) as typeof parsed;
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ');
    throw wrong(`${sentence.replace(/\.$/, '')}.`);
  }
  const { positionals, values } = parsed;
  const { length } = command.parameters;
  if (positionals.length !== length && values.help !== true) {
    const expected = length === 0 ? 'no arguments' : command.parameters.join(' ');
    throw wrong(`This command takes ${expected}.`);
  }
  const input: Input = {
    positionals: positionals.map((text, index) =>
      command.parameters[index] === 'FOLDER' ? resolve(text) : text,
    ),
    options: values,
  };
  if (values.help !== true) command.check?.(input);
  return input;
}

/** Parses an option as a whole number. Throws UsageError. */
export function wholeNumber({ options }: Input, name: string, fallback: number, most: number): number {
  const value = options[name];
  if (value === undefined) return fallback;
  const number = Number(value);
  if (/^\d+$/.test(String(value)) && number >= 1 && number <= most) return number;
  throw new UsageError(`--${name} must be a whole number from 1 to ${most}, not "${value}".`);
}
