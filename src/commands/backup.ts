/** `parley backup` copies the embedded database, even while the service runs. Contract section 11. */
import { CommandError, type DatabaseCommand } from './command.ts';

export const backup: DatabaseCommand = {
  name: 'backup',
  summary: 'Copy the embedded database into a new folder, even while the service is running.',
  parameters: ['FOLDER'],
  details: [
    'Database queries wait while the files are copied. To restore, start the service with the folder as DATA_DIR.',
    'Back up a Postgres server with its own tools, such as pg_dump.',
  ],
  run: async ({ copyTo }, { positionals: [folder = ''] }) => {
    if (copyTo === undefined)
      throw new CommandError(
        'This command copies the embedded database. Back up a Postgres server with its own tools, such as pg_dump.',
      );
    const { bytes, ms } = await copyTo(folder).catch((error) => {
      throw new CommandError((error as Error).message);
    });
    return {
      text: [`Copied ${Math.ceil(bytes / 1024 / 1024)} MiB to ${folder} in ${(ms / 1000).toFixed(1)} s.`],
      value: { folder, bytes, ms },
    };
  },
};
