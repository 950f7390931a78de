// Reliability test 61: invalid paths, queries, and cursors are refused. `encodings.long` covers every parameter.
import t from 'tap';
import { forgedCursors } from '../support/encodings.ts';
import { askRaw } from '../support/raw-http.ts';
import { onEachDatabase } from '../support/service.ts';

onEachDatabase(t, {}, async (t, { client, port }) => {
  const { cookie } = await client.signUp();
  const ask = (path: string) => askRaw(port, path, { cookie });

  await t.test('61: a cursor with an impossible date or of the shape of no list is 400', async (t) => {
    const { body } = await client.post('/chat', { message: 'Hello' }, { cookie });
    const instant = '(0001-01-01T00:00:00.000|9999-12-31T23:59:59.999)Z';
    const uuid = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
    /** The lists, and which of the forged cursors could be their own. */
    const lists: [path: string, own: RegExp][] = [
      ['/conversations', new RegExp(`^${instant}\\|${uuid}$`)],
      ['/events', new RegExp(`^${instant}\\|${uuid}$`)],
      ['/requests', new RegExp(`^[0-9]{4}-[0-9]{2}-[0-9]{2}\\|${instant}\\|${uuid}$`)],
      [`/conversations/${body.conversation_id}`, new RegExp(`^${uuid}$`)],
    ];
    for (const [path, own] of lists) {
      for (const cursor of forgedCursors) {
        const { status, text } = await ask(`/api/v1${path}?cursor=${cursor}`);
        const decoded = Buffer.from(cursor, 'base64url').toString('latin1');
        const what = `${path} ${JSON.stringify(decoded)}`;
        if (own.test(decoded)) t.equal(status, 200, what);
        else {
          t.equal(status, 400, what);
          t.match(JSON.parse(text), { error: { code: 'invalidRequest', param: 'cursor' } }, what);
        }
      }
    }
  });

  await t.test('61: invalid encodings are refused, and the error names the parameter', async (t) => {
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

  await t.test('61: missing files and folders are 404', async (t) => {
    for (const folder of ['/assets/', '/assets/reference/'])
      for (const name of ['', '..', '..%5c', '..%5c..%5cx', '%5c', '//', '%2e%2e', '%2e%2e%2f', 'x', '.'])
        t.equal((await ask(folder + name)).status, 404, folder + name);
  });
});
