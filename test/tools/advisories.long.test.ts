// `make advisories` and `make sbom`: advisories and licenses of the packages that ship.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const root = fileURLToPath(new URL('../../', import.meta.url));

type Ended = { code: number; stdout: string; stderr: string };

function run(t: Test, program: string, registry: string): Promise<Ended> {
  // npm caches the registry's responses.
  const env = { ...process.env, npm_config_registry: registry, npm_config_cache: t.testdir() };
  return new Promise((resolve) => {
    execFile(process.execPath, [program], { cwd: root, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** Starts a registry that handles every request with the given listener. */
async function registry(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** A listener that returns advisories by package name. */
const knows =
  (advisories: object): RequestListener =>
  (incoming, outgoing) => {
    incoming.resume();
    const isAudit = incoming.url?.includes('/security/advisories/bulk');
    outgoing.writeHead(isAudit ? 200 : 404, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify(isAudit ? advisories : {}));
  };

const advisory = (severity: string) => [
  { id: 1, url: 'https://example.com/1', title: 'It breaks', severity, vulnerable_versions: '>=0.0.0' },
];

t.test(
  'make advisories fails for an advisory on a package that ships with the server or the dashboard',
  async (t) => {
    for (const name of ['fastify', 'react']) {
      const { code, stderr } = await run(
        t,
        'tools/advisories.mjs',
        await registry(t, knows({ [name]: advisory('low') })),
      );
      t.equal(code, 1);
      t.match(stderr, new RegExp(`${name} .*It breaks \\(low\\) https://example.com/1`));
    }
  },
);

t.test('make advisories ignores an advisory on a package that only tests use', async (t) => {
  const { code, stdout } = await run(
    t,
    'tools/advisories.mjs',
    await registry(t, knows({ tap: advisory('critical') })),
  );
  t.equal(code, 0);
  t.match(stdout, /No package that ships has a known advisory/);
});

t.test(
  'make advisories exits with 2 within a minute if the registry rejects the request or is unreachable',
  async (t) => {
    const refusing = await registry(t, (incoming, outgoing) => {
      incoming.resume();
      outgoing.writeHead(405).end();
    });
    for (const url of [refusing, 'http://127.0.0.1:1/']) {
      const from = performance.now();
      const { code, stderr } = await run(t, 'tools/advisories.mjs', url);
      t.equal(code, 2);
      t.match(stderr, /the registry could not be reached/);
      t.ok(performance.now() - from < 60_000);
    }
  },
);

t.test('make advisories exits with 2 within a minute if the registry does not respond', async (t) => {
  const from = performance.now();
  const { code } = await run(t, 'tools/advisories.mjs', await registry(t, () => {}));
  t.equal(code, 2);
  t.ok(performance.now() - from < 60_000);
});

t.test(
  'make sbom lists every package that ships, with its version, license, and purl, and no dev dependency',
  async (t) => {
    const { code, stderr } = await run(t, 'tools/sbom.mjs', 'http://127.0.0.1:1/');
    t.equal(code, 0, stderr);
    for (const [file, lock] of [
      ['parley', 'package-lock.json'],
      ['parley-dashboard', 'src/dashboard/package-lock.json'],
    ]) {
      const document = JSON.parse(fs.readFileSync(`${root}sbom/${file}.cdx.json`, 'utf8'));
      t.match(document, {
        bomFormat: 'CycloneDX',
        specVersion: /^1\.\d$/,
        metadata: { component: { name: file } },
      });
      const packages: Record<string, { dev?: boolean; version: string }> = JSON.parse(
        fs.readFileSync(root + lock, 'utf8'),
      ).packages;
      const expected = Object.entries(packages)
        .filter(([path, { dev }]) => path !== '' && !dev)
        .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);
      const listed = document.components.map(
        (one: { name: string; version: string }) => `${one.name}@${one.version}`,
      );
      t.same([...new Set(listed)].sort(), [...new Set(expected)].sort());
      for (const { licenses, purl } of document.components)
        t.ok(licenses.length > 0 && purl.startsWith('pkg:npm/'));
    }
  },
);
