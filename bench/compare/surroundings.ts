/** Starts the Postgres server and the upstream that targets share. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../../test/support/postgres.ts';
import type { Surroundings } from './targets.ts';

/** @param folder - holds the database. It must be on a disk, because a flush in memory is free. */
export async function startSurroundings(folder: string): Promise<Surroundings & { stop(): Promise<void> }> {
  const home = fs.mkdtempSync(path.join(folder, 'parley-bench-'));
  // Postgres runs as another user if this process is root.
  fs.chmodSync(home, 0o755);
  const database = await startPostgres({ durable: true, dataDir: path.join(home, 'postgres') });
  const [pid] = fs.readFileSync(path.join(database.dataDir, 'postmaster.pid'), 'utf8').split('\n');
  const remove = () => fs.rmSync(home, { recursive: true, force: true });
  // Cleans up after a benchmark that fails.
  const abandon = () => {
    process.kill(Number(pid), 'SIGQUIT');
    remove();
  };
  process.once('exit', abandon);
  const upstream = fork(fileURLToPath(new URL('./upstream.ts', import.meta.url)), {
    execArgv: ['--import=ts-blank-space/register'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [port] = (await once(upstream, 'message')) as [number];
  return {
    database,
    databasePid: Number(pid),
    upstreamUrl: `http://127.0.0.1:${port}/v1`,
    async stop() {
      upstream.disconnect();
      process.off('exit', abandon);
      await database.drop();
      remove();
    },
  };
}
