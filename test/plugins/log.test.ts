// Reliability test 3 and contract section 3: what must never be in the log, whatever the level.
import t from 'tap';
import { loggedPath } from '../../src/server-options.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { startProcess } from '../support/process.ts';
import { databaseKinds, freshDatabase } from '../support/service.ts';

for (const kind of databaseKinds) {
  t.test(`${kind}: neither key, password, cookie nor message is logged at the finest level`, async (t) => {
    const database = await freshDatabase(kind);
    const service = await startProcess(t, { ...database.env, LOG_LEVEL: 'trace' });
    const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi;
    const client = new Client(service.origin, document);
    const password = 'canary password 4711';
    const owner = await client.signUp('canary@example.com', password);
    const { key } = await client.createKey(owner);
    const message = 'canary message 0815';

    await client.post('/chat', { message }, { key });
    await client.post('/chat', { message, nonsense: message }, { key });
    await client.post('/auth/login', { email: owner.email, password: `${password}!` });
    for (const path of [
      `/usage?api_key=${key}`,
      `/usage?x=${key}`,
      `/usage;api_key=${key}`,
      `/usage%3Fapi_key=${key}`,
      `/models/${key}`,
    ]) {
      await client.get(path, { key });
      await fetch(`${service.origin}/api/v1${path.replace('parley_', '%70arley_')}`);
    }
    await client.request('POST', '/chat', { raw: `{"message":"${message}"`, key });
    await client.post('/keys', { name: key, scopes: [key] }, { cookie: owner.cookie });
    await service.end();

    const log = service.output();
    t.match(log, /"msg":"request completed"/);
    for (const secret of [key, key.slice(16), password, owner.cookie.split('=')[1] ?? '?', message]) {
      t.notOk(log.includes(secret), `${secret.slice(0, 20)}…`);
      t.notOk(log.includes(encodeURIComponent(secret)), `${secret.slice(0, 20)}… encoded`);
    }
    await database.drop();
  });
}

t.test('a path without a key is logged as it is', async (t) => {
  t.equal(loggedPath('/api/v1/models/a%2Fb?x=1'), '/api/v1/models/a%2Fb');
  t.equal(loggedPath(undefined), '');
});
