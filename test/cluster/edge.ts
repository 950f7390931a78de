/** The programs between clients, replicas, and databases: HAProxy, PgBouncer in transaction mode, and Redis. */
import fs from 'node:fs';
import path from 'node:path';
import { addressOf, appHosts, databaseHosts } from './network.ts';
import { type Place, Program } from './processes.ts';

export const APP_PORT = 3000;
const API_PORT = 8080;
const PRIMARY_PORT = 5000;
export const POOLER_PORT = 6432;

/** The service, as clients reach it through HAProxy. */
export const apiOrigin = `http://${addressOf('edge')}:${API_PORT}`;
/** The primary Postgres, through HAProxy. */
export const primaryUrl = `postgres://postgres@${addressOf('edge')}:${PRIMARY_PORT}/postgres`;
export const redisUrl = `redis://${addressOf('redis')}:6379`;

const haproxySettings = () => `
defaults
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
  default-server inter 1s fall 2 rise 1

frontend api
  mode http
  bind ${addressOf('edge')}:${API_PORT}
  option forwardfor
  default_backend replicas

backend replicas
  mode http
  balance roundrobin
  option redispatch
  retries 2
  option httpchk GET /readyz
  http-check expect status 200
${appHosts.map((host) => `  server ${host} ${addressOf(host)}:${APP_PORT} check`).join('\n')}

# Closes connections to a Postgres that is no longer the primary.
listen primary
  mode tcp
  bind ${addressOf('edge')}:${PRIMARY_PORT}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server on-marked-down shutdown-sessions
${databaseHosts.map((host) => `  server ${host} ${addressOf(host)}:5432 check port 8008`).join('\n')}
`;

const pgbouncerSettings = () => `
[databases]
* = host=${addressOf('edge')} port=${PRIMARY_PORT} user=postgres
[pgbouncer]
listen_addr = ${addressOf('edge')}
listen_port = ${POOLER_PORT}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 30
max_client_conn = 500
server_connect_timeout = 3
# Seconds to wait after a failed connection. The default of 15 s would prolong every failover.
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`;

export class Edge {
  readonly haproxy: Program;
  readonly pgbouncer: Program;
  readonly redis: Program;

  constructor(place: Place) {
    const write = (name: string, content: string) => {
      const file = path.join(place.folder, name);
      fs.writeFileSync(file, content);
      return file;
    };
    const haproxy = write('haproxy.cfg', haproxySettings());
    this.haproxy = new Program(place, {
      name: 'haproxy',
      host: 'edge',
      // Master and worker: on SIGUSR2, the master reloads.
      command: ['haproxy', '-W', '-db', '-f', haproxy],
    });
    this.pgbouncer = new Program(place, {
      name: 'pgbouncer',
      host: 'edge',
      user: 'postgres',
      command: ['pgbouncer', write('pgbouncer.ini', pgbouncerSettings())],
    });
    this.redis = new Program(place, {
      name: 'redis',
      host: 'redis',
      command: [
        ...['redis-server', '--bind', '0.0.0.0', '--protected-mode', 'no'],
        ...['--save', '', '--appendonly', 'no'],
      ],
    });
  }

  start(): void {
    for (const program of [this.haproxy, this.pgbouncer, this.redis]) program.start();
  }
}
