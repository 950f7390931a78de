// Reliability test 61: invalid paths, queries, and cursors are refused. `encodings.long` covers every parameter.
import t from 'tap';
import { forgedCursors } from '../support/encodings.ts';
import { askRaw } from '../support/raw-http.ts';
import { onEachDatabase } from '../support/service.ts';

const id = '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f';

onEachDatabase(t, {}, async (t, { client, port }) => {
  const { cookie } = await client.signUp();
  const ask = (path: string) => askRaw(port, path, { cookie });
  const isFine = (status: number) => status < 500 && status !== 429;

  await t.test('61 a forged cursor never causes a 5xx, and one with an impossible date is 400', async (t) => {
    const lists = ['/conversations', '/events', '/requests', `/conversations/${id}`];
    for (const path of lists) {
      for (const cursor of forgedCursors) {
        const { status, text } = await ask(`/api/v1${path}?cursor=${cursor}`);
        t.ok(isFine(status), `${path}?cursor=${cursor} → ${status}`);
        const decoded = Buffer.from(cursor, 'base64url').toString('latin1');
        if (/-02-(29|30)T|-04-31T|-13-|-00T|T24|:60\./.test(decoded) && !path.includes(id)) {
          t.equal(status, 400, `${path} ${decoded}`);
          t.match(JSON.parse(text), { error: { code: 'invalidRequest', param: 'cursor' } });
        }
      }
    }
  });

  await t.test('61 invalid encodings are refused, and the error names the parameter', async (t) => {
    const cases: [path: string, param: string | null, message: RegExp][] = [
      ['/api/v1/requests?endpoint=%00', 'endpoint', /NUL/],
      ['/api/v1/requests?endpoint=%c0%80', 'endpoint', /UTF-8/],
      ['/api/v1/requests?endpoint=%ed%a0%80', 'endpoint', /UTF-8/],
      ['/api/v1/requests?endpoint=100%', 'endpoint', /UTF-8/],
      ['/api/v1/requests?%00=1', null, /NUL/],
      ['/docs/search?q=%00', 'q', /NUL/],
      ['/docs/guides/a%00b', null, /NUL/],
      ['/nothing/%00', null, /NUL/],
      ['/docs/guides/%c0%80', null, /UTF-8/],
    ];
    for (const [path, param, message] of cases) {
      const { status, text } = await ask(path);
      t.equal(status, 400, path);
      t.match(JSON.parse(text).error, { code: 'invalidRequest', param, message }, path);
    }
  });

  await t.test('61 missing files and folders are 404', async (t) => {
    for (const folder of ['/assets/', '/assets/reference/'])
      for (const name of ['', '..', '..%5c', '..%5c..%5cx', '%5c', '//', '%2e%2e', '%2e%2e%2f', 'x', '.'])
        t.equal((await ask(folder + name)).status, 404, folder + name);
  });
});
