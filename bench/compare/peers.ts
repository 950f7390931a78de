/** The peers that Parley is compared with. Their programs are in `bench/peers`, a separate package. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Row } from './rows.ts';

export type Peer = {
  name: string;
  title: string;
  file: string;
  /** Whether the peer supports the row. */
  rows(row: Row): boolean;
  /** The prefix of the row's path. Defaults to Parley's. */
  base?: string;
  /** The peer gets an empty database as `DATABASE_URL`, and the CPU time of Postgres counts. */
  usesDatabase?: boolean;
  /** A program that must be installed. Without it, the peer is skipped, and the report says so. */
  program?: string;
};

export const peers: Peer[] = [
  { name: 'route', title: 'bare Fastify route', file: 'route.mjs', rows: ({ limit }) => limit === 'route' },
  {
    name: 'proxy',
    title: 'bare Fastify and undici proxy',
    file: 'proxy.mjs',
    rows: ({ limit }) => limit === 'proxy',
  },
  {
    name: 'nginx',
    title: 'nginx as a proxy',
    file: 'nginx.mjs',
    rows: ({ limit, path }) => limit === 'proxy' && path === '/chat/completions',
    program: 'nginx',
  },
  {
    name: 'portkey',
    title: 'Portkey gateway (counts nothing)',
    file: 'portkey.mjs',
    rows: ({ limit, path }) => limit === 'proxy' && path === '/chat/completions',
    base: '/v1',
  },
  {
    name: 'express',
    title: 'Express, passport, pg',
    file: 'express.mjs',
    rows: ({ name }) => name === 'usage',
    usesDatabase: true,
  },
  {
    name: 'better-auth',
    title: 'better-auth API key with counter',
    file: 'better-auth.mjs',
    rows: ({ name }) => name === 'builtin',
    usesDatabase: true,
  },
];

const isInstalled = (program: string) =>
  (process.env.PATH ?? '').split(path.delimiter).some((folder) => existsSync(path.join(folder, program)));

/** Peers that this machine cannot run. */
export const missingPeers: Peer[] = peers.filter(
  ({ program }) => program !== undefined && !isInstalled(program),
);
