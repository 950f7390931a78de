/** Debian's PgBouncer in transaction mode. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import type { Test } from 'tap';
import { serverUser } from './postgres-binaries.ts';
import { freePort, isInstalled } from './programs.ts';
import { currentRun } from './run-folder.ts';
import { eventually } from './upstream/engine.ts';

/** Whether `pgbouncer` is installed. Without it, its tests are skipped. */
export const hasPgbouncer = (): boolean => isInstalled('pgbouncer');

const answers = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/**
 * Starts a PgBouncer in front of a database. It is killed when the test ends.
 *
 * @param databaseUrl - the URL of the database
 * @returns the URL of the database through PgBouncer
 */
export async function startPgbouncer(t: Test, databaseUrl: string): Promise<string> {
  const target = new URL(databaseUrl);
  const port = await freePort();
  const folder = fs.mkdtempSync(path.join(currentRun().folder, 'pgbouncer-'));
  const settings = [
    '[databases]',
    `* = host=${target.hostname} port=${target.port}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction`,
    'default_pool_size = 20\nmax_client_conn = 500\nignore_startup_parameters = extra_float_digits',
  ];
  // With `auth_type = any`, every client connects as the user in the database's entry.
  settings[1] += ` user=${target.username}`;
  const file = path.join(folder, 'pgbouncer.ini');
  fs.writeFileSync(file, `${settings.join('\n')}\n`);
  // PgBouncer refuses to run as root.
  const user = serverUser();
  if (user) for (const one of [folder, file]) fs.chownSync(one, user.uid, user.gid);
  const output = fs.openSync(path.join(folder, 'log'), 'a');
  const pooler = spawn('pgbouncer', [file], { ...user, cwd: '/', stdio: ['ignore', output, output] });
  fs.closeSync(output);
  t.teardown(async () => {
    if (pooler.exitCode !== null || pooler.signalCode !== null) return;
    pooler.kill('SIGKILL');
    await once(pooler, 'exit');
  });
  // If the test file crashes, no teardown runs.
  process.once('exit', () => pooler.kill('SIGKILL'));
  await eventually('PgBouncer accepts connections', () => answers(port));
  return `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`;
}
