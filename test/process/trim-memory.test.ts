// From outside, on every release of Node.js: a collection that blocks the process would hang here.
import t from 'tap';
import { startProcess } from '../support/process.ts';
import { freshDatabase } from '../support/service.ts';

t.test('a service that has started returns memory, and serves and ends as before', async (t) => {
  const database = await freshDatabase('postgres');
  t.teardown(() => database.drop());
  const service = await startProcess(t, { ...database.env, LOG_LEVEL: 'debug' });
  const line = await new Promise<string>((resolve) => {
    const look = () => {
      const found = service.output().match(/^\{.*Returned memory used at startup.*\}$/m);
      if (found) resolve(found[0]);
    };
    service.child.stdout?.on('data', look);
    look();
  });
  const { before, after } = JSON.parse(line);
  t.ok(after < before, `${before} MB → ${after} MB`);
  t.equal((await fetch(`${service.origin}/readyz`)).status, 200);
  t.match(await service.end(), { code: 0, signal: null });
});
