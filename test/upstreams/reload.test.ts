// SIGHUP and a command reload UPSTREAMS_FILE. An invalid file aborts startup.
import t from 'tap';
import { parley } from '../support/parley.ts';
import { failToStart, startProcess } from '../support/process.ts';
import { databaseKinds, freshDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const defaultModel = async ({ origin }: { origin: string }) => {
  const response = await fetch(`${origin}/api/v1/service`);
  return ((await response.json()) as { engine: { default_model: string } }).engine.default_model;
};

t.test('SIGHUP reloads UPSTREAMS_FILE, and an invalid file changes nothing', async (t) => {
  const database = await freshDatabase('postgres');
  const file = upstreamsFile(several([upstream]));
  const service = await startProcess(t, { ...database.env, ...file.env });
  t.match(service.output(), 'chat a,', 'startup prints the upstreams');
  const model = () => defaultModel(service);
  const logs = (text: string) =>
    eventually(`the log contains ${text}`, async () => service.output().includes(text));
  t.equal(await model(), 'public');
  file.write(several([upstream], {}, { name: 'renamed' }));
  service.child.kill('SIGHUP');
  await logs('Reloaded UPSTREAMS_FILE.');
  t.equal(await model(), 'renamed');
  file.write(several([upstream], {}, { units: 0 }));
  service.child.kill('SIGHUP');
  await logs('The previous upstreams remain in use.');
  t.match(service.output(), '`units` must be at least 1.');
  t.equal(await model(), 'renamed');
  t.match(await service.end(), { code: 0 });
  await database.drop();
});

for (const kind of databaseKinds)
  t.test(`${kind}: parley upstreams reload reloads every process, and reports invalid files`, async (t) => {
    const database = await freshDatabase(kind);
    const reload = (env: Record<string, string> = {}) =>
      parley({ ...database.env, ...env }, 'upstreams', 'reload', '--json');
    t.match(await reload(), { code: 1, stderr: /No service is running on this database/ });
    const files = (kind === 'postgres' ? [0, 1] : [0]).map(() => upstreamsFile(several([upstream])));
    const services = await Promise.all(
      files.map((file) => startProcess(t, { ...database.env, ...file.env })),
    );
    const pids = services.map(({ child }) => child.pid);
    const models = () => Promise.all(services.map(defaultModel));

    for (const { write } of files) write(several([upstream], {}, { name: 'renamed' }));
    const { code, stdout } = await reload();
    t.equal(code, 0);
    const { processes, unanswered } = JSON.parse(stdout);
    t.equal(unanswered, 0);
    t.same(processes.map(({ pid }: { pid: number }) => pid).sort(), pids.sort());
    t.same(
      await models(),
      files.map(() => 'renamed'),
      'every process has the new model',
    );

    // Only the first process has an invalid file.
    files[0]?.write(several([upstream], {}, { name: 'wrong', units: 0 }));
    for (const { write } of files.slice(1)) write(several([upstream], {}, { name: 'third' }));
    const partly = await parley(database.env, 'upstreams', 'reload');
    t.equal(partly.code, 1);
    t.match(partly.stderr, '`units` must be at least 1.');
    t.match(partly.stderr, 'the previous upstreams remain in use');
    t.same(await models(), ['renamed', ...files.slice(1).map(() => 'third')]);

    // The command first checks the file in its own environment.
    const own = upstreamsFile(several([upstream], { kind: 'telepathy' }));
    for (const { write } of files) write(several([upstream], {}, { name: 'fourth' }));
    const refused = await reload(own.env);
    t.match(refused, { code: 1, stderr: /`kind` must be one of/ });
    t.same(await models(), ['renamed', ...files.slice(1).map(() => 'third')], 'no process reloads');

    for (const service of services) t.match(await service.end(), { code: 0 });
    await database.drop();
  });

t.test('a process without UPSTREAMS_FILE does not reload', async (t) => {
  const database = await freshDatabase('embedded');
  const service = await startProcess(t, database.env);
  t.match(await parley(database.env, 'upstreams', 'reload'), {
    code: 1,
    stderr: /It was started without UPSTREAMS_FILE/,
  });
  t.match(await service.end(), { code: 0 });
  await database.drop();
});

t.test('an invalid UPSTREAMS_FILE aborts startup, and the output lists every error', async (t) => {
  const { env } = upstreamsFile(several([upstream], { kind: 'telepathy' }, { units: 0 }));
  const { code, output } = await failToStart(t, env);
  t.equal(code, 1);
  t.match(output, 'UPSTREAMS_FILE has 2 errors:');
  t.match(output, 'Upstream "a": `kind` must be one of');
  t.match(output, 'Model "public": `units` must be at least 1.');
});
