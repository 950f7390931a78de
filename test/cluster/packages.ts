/** What the cluster test needs of the machine. */
import fs from 'node:fs';

/** Files, and the Debian package that each is from. */
const wanted: Record<string, string> = {
  '/usr/bin/patroni': 'patroni',
  '/usr/lib/python3/dist-packages/etcd': 'python3-etcd',
  '/usr/bin/etcd': 'etcd-server',
  '/usr/bin/etcdctl': 'etcd-client',
  '/usr/sbin/haproxy': 'haproxy',
  '/usr/sbin/pgbouncer': 'pgbouncer',
  '/usr/bin/redis-server': 'redis-server',
  '/usr/lib/postgresql/15/bin/postgres': 'postgresql-15',
  '/usr/bin/faketime': 'faketime',
  '/usr/bin/prometheus': 'prometheus',
  '/usr/bin/setpriv': 'util-linux',
};

/** A sentence that says what is missing and how to get it, or nothing. */
export function missing(): string | undefined {
  if (process.platform !== 'linux') return 'The cluster test needs Linux: it makes network namespaces.';
  if (process.getuid?.() !== 0) return 'The cluster test makes network namespaces: run it as root.';
  const packages = Object.entries(wanted)
    .filter(([file]) => !fs.existsSync(file))
    .map(([, name]) => name);
  if (!fs.existsSync('/sbin/ip') && !fs.existsSync('/usr/sbin/ip')) packages.push('iproute2');
  if (packages.length === 0) return undefined;
  return `The cluster test needs Debian packages that are missing. Install them: apt-get install --no-install-recommends ${packages.join(' ')}`;
}

/** The library that `faketime` preloads, for programs with threads. */
export function faketimeLibrary(): string {
  const found = fs
    .readdirSync('/usr/lib')
    .map((folder) => `/usr/lib/${folder}/faketime/libfaketimeMT.so.1`)
    .find((file) => fs.existsSync(file));
  if (found === undefined) throw new Error('There is no libfaketimeMT.so.1.');
  return found;
}
