// Before all test files (.taprc): the Postgres that they share. tap starts this file and the tests, so the parent process
// is what they have in common.
import { startPostgres } from './postgres.ts';
import { beginRun, saveRun } from './run-folder.ts';

const run = beginRun(process.ppid);
const { port, version, description, dataDir, socketDir } = await startPostgres();
saveRun({ ...run, postgres: { port, version, description, dataDir, socketDir } });
console.error(`Node ${process.version}, Postgres ${description}`);
process.exit();
