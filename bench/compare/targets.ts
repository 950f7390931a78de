/** Starts the targets of a row: Parley on both databases, and its peers. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import type { Postgres } from '../../test/support/postgres.ts';
import { makeKeys, withoutCeilings } from '../support/accounts.ts';
import { startServiceProcess } from '../support/processes.ts';
import { type LedgerCheck, ledgerOf } from './ledger.ts';
import { missingPeers, type Peer, peers } from './peers.ts';
import type { Row } from './rows.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The services that targets share: a durable Postgres, and an upstream that responds immediately. */
export type Surroundings = { database: Postgres; databasePid: number; upstreamUrl: string };

export type Target = {
  name: string;
  title: string;
  port: number;
  /** The prefix of the row's path. */
  base: string;
  headers: Record<string, string>;
  /** Roots of the process trees whose CPU time counts. */
  trees: Record<string, number>;
  /** Undefined if the target has no database that other processes can use. */
  databaseUrl?: string;
  /** Undefined if the target does not charge requests. */
  ledger: LedgerCheck | undefined;
  stop(): Promise<void>;
};

export type DatabaseKind = 'postgres' | 'embedded';

/** Enforced exactly, but never reached. */
const limits = { chat: 1_000_000_000, images: 1_000_000_000, search: 1_000_000_000 };

async function newDatabase({ database }: Surroundings, prefix: string): Promise<string> {
  const name = `${prefix}_${Date.now()}`;
  const sql = postgres(database.url(), { max: 1, onnotice: () => {} });
  await sql.unsafe(`create database ${name}`);
  await sql.end();
  return database.url(name);
}

/**
 * Starts Parley from `dist`, with an empty database, one account, and one key. It runs as with `make start`, except that limits
 * that the load would reach are raised.
 *
 * @param options - additions to the environment and to Node's options; `program` replaces that of `dist`
 */
export async function startParley(
  kind: DatabaseKind,
  row: Row,
  around: Surroundings,
  options: { env?: Record<string, string>; nodeOptions?: string[]; program?: string } = {},
): Promise<Target> {
  const dataDir = fs.mkdtempSync(path.join(root, '.prepare/bench-data-'));
  const database: Record<string, string> = {
    DATA_DIR: dataDir,
    ...(kind === 'postgres' && { DATABASE_URL: await newDatabase(around, 'parley') }),
  };
  const plans = withoutCeilings(limits);
  const env = {
    ...plans.env,
    ...database,
    STREAMS_PER_ACCOUNT: '1000',
    BODY_MEMORY_MB: '1024',
    ...(row.limit === 'proxy' && { CHAT_URL: around.upstreamUrl }),
    ...options.env,
  };
  const service = await startServiceProcess(env, options.nodeOptions, options.program);
  const [key = ''] = await makeKeys(service.origin, 1, undefined, ['chat', 'search', 'models', 'usage']);
  return {
    name: kind,
    title: `Parley, ${kind === 'postgres' ? 'Postgres' : 'embedded database'}`,
    port: Number(new URL(service.origin).port),
    base: '/api/v1',
    headers: { authorization: `Bearer ${key}` },
    trees: { node: service.pid, ...(kind === 'postgres' && { postgres: around.databasePid }) },
    ...(database.DATABASE_URL !== undefined && { databaseUrl: database.DATABASE_URL }),
    ledger: ledgerOf({ origin: service.origin, key, database }),
    async stop() {
      await service.stop();
      plans.remove();
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function startPeer(peer: Peer, around: Surroundings): Promise<Target> {
  const child = fork(path.join(root, 'bench/peers', peer.file), {
    cwd: path.join(root, 'bench/peers'),
    execArgv: [],
    env: {
      PATH: process.env.PATH ?? '',
      NODE_ENV: 'production',
      UPSTREAM_URL: around.upstreamUrl,
      ...(peer.usesDatabase && { DATABASE_URL: await newDatabase(around, peer.name.replaceAll('-', '_')) }),
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const failed = once(child, 'exit').then(() => Promise.reject(new Error(`${peer.title} did not start.`)));
  failed.catch(() => {});
  const [message] = (await Promise.race([once(child, 'message'), failed])) as [
    number | { port: number; headers: Record<string, string> },
  ];
  const { headers, port } = typeof message === 'number' ? { port: message, headers: {} } : message;
  return {
    name: peer.name,
    title: peer.title,
    port,
    base: peer.base ?? '/api/v1',
    headers,
    trees: { node: child.pid as number, ...(peer.usesDatabase && { postgres: around.databasePid }) },
    ledger: undefined,
    async stop() {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}

/**
 * Starts the baseline first, then Parley, then other peers.
 *
 * @param wanted - names of targets, or undefined for all
 */
export async function startTargets(row: Row, around: Surroundings, wanted?: string[]): Promise<Target[]> {
  const fitting = peers.filter((peer) => peer.rows(row) && !missingPeers.includes(peer));
  const starts = [
    ...fitting
      .filter(({ name }) => name === row.limit)
      .map((peer) => [peer.name, () => startPeer(peer, around)] as const),
    ...(['postgres', 'embedded'] as const).map(
      (kind) => [kind, () => startParley(kind, row, around)] as const,
    ),
    ...fitting
      .filter(({ name }) => name !== row.limit)
      .map((peer) => [peer.name, () => startPeer(peer, around)] as const),
  ];
  const targets: Target[] = [];
  for (const [name, start] of starts)
    if (wanted === undefined || wanted.includes(name)) targets.push(await start());
  return targets;
}
