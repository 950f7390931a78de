// Runs a separate process on every release of Node.js: a garbage collection that blocks it would hang here.
import t from 'tap';
import { startProcess } from '../support/process.ts';
import { freshDatabase } from '../support/service.ts';

t.test(
  'the service returns memory to the system after startup, and still serves and shuts down',
  async (t) => {
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
  },
);
