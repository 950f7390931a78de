/** `parley export` and `parley import` move a database between the embedded one and Postgres. Contract section 11. */
import { loadConfig } from '../../config.ts';
import type { Env } from '../../environment.ts';
import { CommandError, type Input, type LocalCommand, type Result } from '../command.ts';
import { reasonOf } from '../operator.ts';
import { table } from '../table.ts';
import { copyDatabase } from './copy.ts';
import { configuredLocation, type Location, nameOf, openEnd, parseLocation } from './ends.ts';
import { Progress } from './progress.ts';

async function transfer(
  from: Location,
  to: Location,
  { options }: Input,
  report: (line: string) => void,
): Promise<Result> {
  if (nameOf(from) === nameOf(to)) throw new CommandError('The source and the target are the same database.');
  const source = await openEnd(from, false);
  try {
    const target = await openEnd(to, true);
    try {
      const progress = new Progress(report);
      const proof = await copyDatabase(source, target, options.restart === true, progress);
      const rows = proof.reduce((sum, one) => sum + one.rows, 0);
      return {
        text: [
          ...table(
            ['TABLE', 'ROWS', 'HASH'],
            proof.map((one) => [one.table, String(one.rows), one.hash]),
          ),
          `${rows} rows match in ${source.name} and ${target.name} (${progress.seconds.toFixed(1)} s).`,
        ],
        value: { source: source.name, target: target.name, seconds: progress.seconds, tables: proof },
      };
    } finally {
      await target.close();
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(
      `The transfer stopped: ${reasonOf(error).replace(/\.$/, '')}. Run the same command again to continue.`,
      {
        cause: error,
      },
    );
  } finally {
    await source.close();
  }
}

const options: LocalCommand['options'] = {
  restart: { type: 'boolean', help: 'empty the target of an unfinished transfer, and start over' },
};

const details = [
  'The argument is a Postgres URL or the folder of an embedded database. Stop the service first.',
  'After an interruption, run the same command again to continue. At the end, the command compares the row count and the',
  'hash of each table. Until then, the service does not start on the target.',
];

const configured = (env: Env): Location => configuredLocation(loadConfig(env));

export const transferCommands: readonly LocalCommand[] = [
  {
    name: 'export',
    summary: 'Copy the database of this installation into an empty one.',
    parameters: ['TARGET'],
    options,
    details,
    runHere: (input, env, report) =>
      transfer(configured(env), parseLocation(input.positionals[0] ?? ''), input, report),
  },
  {
    name: 'import',
    summary: "Copy another database into this installation's empty database.",
    parameters: ['SOURCE'],
    options,
    details,
    runHere: (input, env, report) =>
      transfer(parseLocation(input.positionals[0] ?? ''), configured(env), input, report),
  },
];
