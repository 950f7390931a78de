// SIGHUP reloads the operator's file; a wrong file at the start is refused.
import t from 'tap';
import { failToStart, startProcess } from '../support/process.ts';
import { freshDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

t.test('SIGHUP reloads UPSTREAMS_FILE, and a wrong file changes nothing', async (t) => {
  const database = await freshDatabase('postgres');
  const file = upstreamsFile(several([upstream]));
  const service = await startProcess(t, { ...database.env, ...file.env });
  t.match(service.output(), 'chat a,', 'the start names the upstreams');
  const model = async () => {
    const response = await fetch(`${service.origin}/api/v1/service`);
    const { engine } = (await response.json()) as { engine: { default_model: string } };
    return engine.default_model;
  };
  const logs = (text: string) =>
    eventually(`the log says ${text}`, async () => service.output().includes(text));
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

t.test('a wrong file: the service does not start, and names every mistake', async (t) => {
  const { env } = upstreamsFile(several([upstream], { kind: 'telepathy' }, { units: 0 }));
  const { code, output } = await failToStart(t, env);
  t.equal(code, 1);
  t.match(output, 'UPSTREAMS_FILE has 2 mistakes:');
  t.match(output, 'Upstream "a": `kind` must be one of');
  t.match(output, 'Model "public": `units` must be at least 1.');
});
