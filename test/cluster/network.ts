/**
 * Simulates hosts with network namespaces. On the network `front`, clients reach servers. On `back`, databases
 * replicate and elect a leader. The bridges are in a namespace too, so the machine's own network is unaffected.
 */
import { execFileSync } from 'node:child_process';

/** The last part of each host's addresses. */
const numbers = {
  /** The test itself: load, upstream, and the proxies that inject faults. */
  test: 2,
  db1: 11,
  db2: 12,
  db3: 13,
  /** HAProxy and PgBouncer. */
  edge: 20,
  redis: 30,
  app1: 41,
  app2: 42,
  app3: 43,
} as const;

export type Host = keyof typeof numbers;
export type Network = 'front' | 'back';
export const databaseHosts = ['db1', 'db2', 'db3'] as const;
export type DatabaseHost = (typeof databaseHosts)[number];
export const appHosts = ['app1', 'app2', 'app3'] as const;

const prefixes: Record<Network, string> = { front: '10.77.0', back: '10.78.0' };

export const addressOf = (host: Host, network: Network = 'front'): string =>
  `${prefixes[network]}.${numbers[host]}`;

export const namespaceOf = (prefix: string, host: Host | 'lan'): string => `${prefix}-${host}`;

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });

const networksOf = (host: Host): Network[] => (host.startsWith('db') ? ['front', 'back'] : ['front']);

/** Creates the namespaces, bridges, and links. `clean-up.sh` removes them. */
export function makeNetwork(prefix: string): void {
  const lan = namespaceOf(prefix, 'lan');
  ip('netns', 'add', lan);
  for (const network of ['front', 'back']) {
    ip('-n', lan, 'link', 'add', network, 'type', 'bridge');
    ip('-n', lan, 'link', 'set', network, 'up');
  }
  for (const host of Object.keys(numbers) as Host[]) {
    const namespace = namespaceOf(prefix, host);
    ip('netns', 'add', namespace);
    ip('-n', namespace, 'link', 'set', 'lo', 'up');
    for (const network of networksOf(host)) {
      const port = `${host}-${network}`;
      const peer = ['peer', 'name', network, 'netns', namespace];
      ip('-n', lan, 'link', 'add', port, 'type', 'veth', ...peer);
      ip('-n', lan, 'link', 'set', port, 'master', network, 'up');
      ip('-n', namespace, 'address', 'add', `${addressOf(host, network)}/24`, 'dev', network);
      ip('-n', namespace, 'link', 'set', network, 'up');
    }
  }
}

/** Disconnects a host from a network, or reconnects it. */
export function setLink(prefix: string, host: Host, network: Network, isUp: boolean): void {
  const link = ['-n', namespaceOf(prefix, 'lan'), 'link', 'set', `${host}-${network}`];
  ip(...link, isUp ? 'up' : 'down');
}
