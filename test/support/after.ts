// After all test files (.taprc), also when some have failed.
import { stopPostgresIn } from './postgres.ts';
import { endRun, readRun } from './run-folder.ts';

const run = readRun(process.ppid);
if (run?.postgres) await stopPostgresIn(run.postgres.dataDir);
if (run) endRun(run);
