import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import t from 'tap';
import { typescriptLoader } from './loader.ts';
import { startPostgres } from './postgres.ts';
import { isAlive, processTree, signalAll } from './process-tree.ts';

const quiet = { max: 1, onnotice: () => {}, connect_timeout: 5 };
const onlyLinux = {
  skip: process.platform !== 'linux' && 'Only Linux shows which processes use shared memory.',
};

t.test('startPostgres: an acknowledged row survives kill -9 and a restart on the same port', async (t) => {
  const server = await startPostgres({ durable: true });
  t.teardown(() => server.drop());
  const before = postgres(server.url(), quiet);
  await before`CREATE TABLE kept (id int)`;
  await before`INSERT INTO kept VALUES (7)`;
  await server.kill();
  await t.rejects(before`SELECT 1`);
  await before.end({ timeout: 0 });

  await server.restart();
  const after = postgres(server.url(), quiet);
  t.same([...(await after`SELECT id FROM kept`)], [{ id: 7 }]);
  t.equal((await after`SHOW fsync`)[0]?.fsync, 'on');
  await after.end();
});

t.test(
  'startPostgres: the server restarts immediately after kill -9, even while clients connect',
  async (t) => {
    const server = await startPostgres();
    t.teardown(() => server.drop());
    let isOver = false;
    const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
    const startup = Buffer.alloc(8);
    startup.writeInt32BE(startup.length + parameters.length);
    startup.writeInt32BE(3 << 16, 4);
    /** Opens connections forever, each of which makes the server start a process. */
    const connect = () => {
      if (isOver) return;
      const socket = net.connect(server.port, '127.0.0.1', () =>
        socket.write(Buffer.concat([startup, parameters])),
      );
      socket.on('error', () => {});
      socket.once('data', () => socket.destroy());
      socket.once('close', () => setImmediate(connect));
    };
    for (let clients = 0; clients < 20; clients += 1) connect();
    for (let kills = 0; kills < 20; kills += 1) {
      await server.kill();
      await server.restart();
    }
    isOver = true;
  },
);

t.test(
  'startPostgres: the server restarts even if a process of the killed one is left',
  onlyLinux,
  async (t) => {
    const server = await startPostgres();
    t.teardown(() => server.drop());
    const pidFile = fs.readFileSync(path.join(server.dataDir, 'postmaster.pid'), 'utf8');
    const postmaster = Number(pidFile.split('\n')[0]);
    const [, straggler = 0, ...others] = processTree(postmaster);
    signalAll([straggler], 'SIGSTOP');
    signalAll([postmaster, ...others], 'SIGKILL');
    // Its parent has exited, so it is no longer in the list of the server's processes.
    while (isAlive(postmaster)) await sleep(10);
    await t.resolves(server.restart());
    t.notOk(isAlive(straggler));
  },
);

t.test('startPostgres: queries wait while the server is paused, and complete after it resumes', async (t) => {
  const server = await startPostgres({ settings: { max_connections: '20' } });
  t.teardown(() => server.drop());
  const sql = postgres(server.url(), quiet);
  t.equal((await sql`SHOW max_connections`)[0]?.max_connections, '20');
  server.pause();
  const query = sql`SELECT 1 AS one`.execute();
  const early = await Promise.race([query, sleep(300, 'nothing yet')]);
  t.equal(early, 'nothing yet');
  server.resume();
  t.same([...(await query)], [{ one: 1 }]);
  await sql.end();
});

t.test('startPostgres: an existing data folder is reused, on the requested port', async (t) => {
  const first = await startPostgres();
  const sql = postgres(first.url(), quiet);
  await sql`CREATE DATABASE mark`;
  await sql.end();
  await first.stop();
  const second = await startPostgres({ dataDir: first.dataDir, port: first.port });
  t.teardown(() => second.drop());
  t.equal(second.port, first.port);
  const again = postgres(second.url('mark'), quiet);
  t.equal((await again`SELECT 1 AS one`)[0]?.one, 1);
  await again.end();
});

t.test('startPostgres: after a test run is killed, its server stops and its folder is removed', async (t) => {
  const support = fileURLToPath(new URL('postgres.ts', import.meta.url));
  const script = `
    import { startPostgres } from ${JSON.stringify(support)};
    const { dataDir } = await startPostgres();
    console.log(dataDir);
    setInterval(() => {}, 1000);`;
  // With a shell in between, the child's parent is not this run's process, so the child begins a new run.
  const child = spawn('/bin/sh', ['-c', '"$0" "$@" & wait', process.execPath, ...nodeOptions, '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const dataDir = String(line).trim();
  const pid = Number(fs.readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  t.ok(isAlive(pid));
  const run = JSON.parse(fs.readFileSync(stateFileOf(dataDir), 'utf8'));
  process.kill(run.runner, 'SIGKILL');
  for (let waited = 0; waited < 10_000 && (isAlive(pid) || fs.existsSync(run.folder)); waited += 100)
    await sleep(100);
  t.notOk(isAlive(pid));
  t.notOk(fs.existsSync(run.folder));
});

const nodeOptions = [typescriptLoader, '--input-type=module'];

function stateFileOf(dataDir: string): string {
  const states = fileURLToPath(new URL('../../.tap/run', import.meta.url));
  const found = fs
    .readdirSync(states)
    .map((name) => path.join(states, name))
    .find((file) => fs.readFileSync(file, 'utf8').includes(path.basename(path.dirname(dataDir))));
  if (!found) throw new Error(`No run contains ${dataDir}.`);
  return found;
}
