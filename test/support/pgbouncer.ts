/** A real PgBouncer, Debian's, in transaction mode. */
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

/** Whether this machine has a `pgbouncer`; without it, tests of it are skipped, visibly. */
export const hasPgbouncer = (): boolean => isInstalled('pgbouncer');

const answers = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/**
 * Starts a pooler in front of a server; it is killed when the test ends.
 *
 * @param databaseUrl - where it leads
 * @returns the URL by way of the pooler
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
  // With `auth_type = any` every client is the user that the target's entry names.
  settings[1] += ` user=${target.username}`;
  const file = path.join(folder, 'pgbouncer.ini');
  fs.writeFileSync(file, `${settings.join('\n')}\n`);
  // It does not run as root.
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
  // A test file that breaks off tears nothing down.
  process.once('exit', () => pooler.kill('SIGKILL'));
  await eventually('PgBouncer answers', () => answers(port));
  return `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`;
}
