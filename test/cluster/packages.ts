/** The system requirements of the cluster test. */
import fs from 'node:fs';

/** Required files, and the Debian package that contains each. */
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

/** A sentence that names the missing requirements and how to meet them, or undefined if nothing is missing. */
export function missing(): string | undefined {
  if (process.platform !== 'linux')
    return 'The cluster test needs Linux, because it creates network namespaces.';
  if (process.getuid?.() !== 0) return 'The cluster test creates network namespaces. Run it as root.';
  const packages = Object.entries(wanted)
    .filter(([file]) => !fs.existsSync(file))
    .map(([, name]) => name);
  if (!fs.existsSync('/sbin/ip') && !fs.existsSync('/usr/sbin/ip')) packages.push('iproute2');
  if (packages.length === 0) return undefined;
  return `The cluster test needs missing Debian packages. Install them: apt-get install --no-install-recommends ${packages.join(' ')}`;
}

/** The library that `faketime` preloads, for programs with threads. */
export function faketimeLibrary(): string {
  const found = fs
    .readdirSync('/usr/lib')
    .map((folder) => `/usr/lib/${folder}/faketime/libfaketimeMT.so.1`)
    .find((file) => fs.existsSync(file));
  if (found === undefined) throw new Error('libfaketimeMT.so.1 was not found.');
  return found;
}
