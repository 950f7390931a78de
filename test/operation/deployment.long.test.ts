/** Checks the deployment files as far as that is possible without a cluster. */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { readConfiguration } from '../../src/commands/doctor/configuration.ts';
import { loadConfig } from '../../src/config.ts';
import { freePort, isInstalled } from '../support/programs.ts';
import { eventually } from '../support/upstream/engine.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name: string) => readFileSync(join(root, 'docs/operation', name), 'utf8');

/** The names of the environment variables that the configuration reads. */
function settingNames(): Set<string> {
  const names = new Set<string>();
  const asked = new Proxy({} as Record<string, string | undefined>, {
    get: (_target, name) => {
      names.add(String(name));
      return undefined;
    },
  });
  loadConfig(asked);
  return names;
}

const settings = settingNames();

/** Asserts that all settings of a file exist, and are valid together. */
function valid(
  t: { ok(value: unknown, message: string): unknown; strictSame(a: unknown, b: unknown): unknown },
  env: Record<string, string>,
) {
  for (const name of Object.keys(env)) t.ok(settings.has(name), `${name} is a setting`);
  t.strictSame(readConfiguration(env).findings, []);
}

t.test('compose.yaml: the settings are valid, and the container is locked down', async (t) => {
  const { services } = parse(read('compose.yaml'));
  const given = { POSTGRES_PASSWORD: 'p', PUBLIC_URL: 'https://chat.example.com' } as Record<string, string>;
  const env = Object.entries(services.parley.environment as Record<string, string>).map(([name, value]) => [
    name,
    value.replace(
      /\$\{(\w+):(?:\?|-(.*?))\}/g,
      (_all, variable: string, fallback = '') => given[variable] ?? fallback,
    ),
  ]);
  valid(t, Object.fromEntries(env));
  t.match(services.parley, { read_only: true, cap_drop: ['ALL'], ports: ['127.0.0.1:3000:3000'] });
  const { drainSeconds } = loadConfig({});
  t.ok(Number.parseInt(services.parley.stop_grace_period, 10) > drainSeconds);
});

t.test('kubernetes.yaml: settings, probes, ports, timeouts, and labels are consistent', async (t) => {
  const objects = parseAllDocuments(read('kubernetes.yaml')).map((document) => {
    t.strictSame(document.errors, []);
    return document.toJS();
  });
  const of = (kind: string) => objects.find((object) => object.kind === kind);
  valid(t, of('ConfigMap').data);
  const { spec } = of('Deployment').spec.template;
  const [container] = spec.containers;
  t.strictSame(
    [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
      ({ httpGet }) => httpGet.path,
    ),
    ['/healthz', '/healthz', '/readyz'],
  );
  t.strictSame(container.ports, [{ name: 'http', containerPort: 3000 }]);
  t.match(container.securityContext, { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
  t.ok(spec.terminationGracePeriodSeconds > Number(of('ConfigMap').data.DRAIN_SECONDS));
  const { failureThreshold, periodSeconds } = container.readinessProbe;
  t.ok(Number(of('ConfigMap').data.READY_DELAY_SECONDS) > failureThreshold * periodSeconds);
  for (const labels of [
    of('Deployment').spec.selector.matchLabels,
    of('Service').spec.selector,
    of('PodDisruptionBudget').spec.selector.matchLabels,
    of('NetworkPolicy').spec.podSelector.matchLabels,
  ])
    t.strictSame(labels, of('Deployment').spec.template.metadata.labels);
});

t.test('Containerfile: the files it copies are enough to serve the app and its docs', async (t) => {
  const copied = [...read('Containerfile').matchAll(/^COPY --from=build \/app\/(\S+) /gm)].map(
    ([, path = '']) => path,
  );
  t.ok(copied.includes('dist') && copied.length > 4);
  const folder = t.testdir();
  for (const path of copied) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    if (path === 'node_modules') symlinkSync(join(root, path), join(folder, path));
    else cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    PORT: String(port),
    DATA_DIR: join(folder, 'data'),
    LOG_LEVEL: 'error',
  };
  const [, command = '[]'] = /^CMD (\[.*\])$/m.exec(read('Containerfile')) ?? [];
  const [, ...args] = JSON.parse(command) as string[];
  const service = spawn(process.execPath, args, { cwd: folder, env, stdio: 'ignore' });
  t.teardown(() => service.kill('SIGKILL'));
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  await eventually(
    'the service is ready',
    async () => (await get('/readyz').catch(() => undefined))?.ok === true,
  );
  for (const path of ['/', '/docs', '/docs/guides/running-parley', '/docs/errors', '/openapi.json'])
    t.equal((await get(path)).status, 200, path);
});

t.test(
  'systemd accepts the unit',
  { skip: !isInstalled('systemd-analyze') && 'systemd is not installed' },
  async (t) => {
    const folder = t.testdir();
    // The path of Node.js differs on the test machine.
    const unit = read('parley.service').replace('/usr/bin/node', process.execPath);
    writeFileSync(join(folder, 'parley.service'), unit);
    t.doesNotThrow(() =>
      execFileSync('systemd-analyze', ['verify', '--man=no', join(folder, 'parley.service')], {
        stdio: 'pipe',
      }),
    );
  },
);
