// No operation is deprecated yet, so these tests add deprecated routes to the real application.
import t, { type Test } from 'tap';
import { NoContent, ref } from '../../schemas/common.ts';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/client.ts';
import type { Deprecation } from '../../src/domain/deprecation.ts';
import { ApiError } from '../../src/errors.ts';
import callerGuard from '../../src/plugins/caller-guard.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { freshDatabase } from '../support/service.ts';

const deprecation = { since: '2026-11-20', sunset: '2027-06-01', link: '/docs/guides/versioning' };

/** The application with three deprecated routes: a public one, one that fails, and one for callers. */
async function appWith(t: Test, announced: Deprecation, schema: object = {}) {
  const database = await freshDatabase('embedded');
  const opened = await openDatabase({ dataDir: String(database.env.DATA_DIR) });
  const config = loadConfig({ PORT: '0', LOG_LEVEL: 'silent', ...database.env });
  const { app, keyLookup } = await buildApp({
    config,
    database: opened,
    sessionSecrets: () => ['a secret for this test only'.repeat(2)],
  });
  t.teardown(async () => {
    await app.close();
    await opened.close();
    await database.drop();
  });
  const route = (operationId: string) => ({
    schema: {
      operationId,
      summary: 'To go',
      description: 'It is to go soon.',
      tags: ['Service'],
      response: { 204: NoContent },
      deprecation: announced,
      ...schema,
    },
  });
  app.register(async (scope) => {
    scope.get('/api/v1/old', route('getOld'), async (_request, reply) => reply.code(204).send());
    scope.get('/api/v1/broken', route('getBroken'), async () => {
      throw new ApiError('internalError');
    });
  });
  app.register(async (scope) => {
    await scope.register(callerGuard, { keyLookup });
    const guarded = { ...route('getGuarded'), config: { scope: 'usage' } } as const;
    scope.get('/api/v1/guarded', guarded, async (_request, reply) => reply.code(204).send());
  });
  // Wrapped in an object: `await` on the application itself would wait until it is ready.
  return { app };
}

const announcements = ({ headers }: { headers: Headers }) =>
  ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));

t.test(
  'a deprecated operation is marked in every response, including errors, and in openapi.json',
  async (t) => {
    const { app } = await appWith(t, deprecation);
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    const document = app.swagger() as unknown as OpenApi;
    const client = new Client(origin, document);
    const expected = [
      `@${Date.UTC(2026, 10, 20) / 1000}`,
      'Tue, 01 Jun 2027 00:00:00 GMT',
      '</docs/guides/versioning>; rel="deprecation"; type="text/html"',
    ];

    const cases = [
      ['/old', 204],
      ['/broken', 500],
      ['/guarded', 401],
      ['/old?api_key=x', 400],
    ] as const;
    // The client validates each response, including its headers, against the document.
    for (const [path, status] of cases) {
      const answer = await client.get(path);
      t.equal(answer.status, status, path);
      t.same(announcements(answer), expected, path);
    }

    const operation = document.paths['/api/v1/old']?.get as { description: string };
    t.match(operation, { deprecated: true, 'x-sunset': '2027-06-01' });
    t.match(operation.description, 'Deprecated since 2026-11-20; may be removed on or after 2027-06-01.');
    t.match(operation, {
      responses: { 204: { headers: { Deprecation: { $ref: '#/components/headers/Deprecation' } } } },
    });

    t.same(announcements(await client.get('/plans')), [null, null, null], 'other operations are not marked');
    t.notOk(document.paths['/api/v1/plans']?.get?.deprecated);
  },
);

t.test('the sunset defaults to six months after the deprecation', async (t) => {
  const { app } = await appWith(t, { since: '2026-11-20' });
  const client = new Client(
    await app.listen({ host: '127.0.0.1', port: 0 }),
    app.swagger() as unknown as OpenApi,
  );
  t.same(announcements(await client.get('/old')), [
    `@${Date.UTC(2026, 10, 20) / 1000}`,
    'Thu, 20 May 2027 00:00:00 GMT',
    null,
  ]);
});

for (const [title, announced, problem] of [
  [
    'a sunset less than six months after the deprecation',
    { since: '2026-11-20', sunset: '2027-05-19' },
    /must stay until 2027-05-20/,
  ],
  [
    'a sunset less than six months after August 31',
    { since: '2026-08-31', sunset: '2027-02-27' },
    /2027-02-28/,
  ],
  ['an invalid date', { since: '2026-02-30' }, /must be a date/],
] as const)
  t.test(`startup fails: ${title}`, async (t) => {
    const { app } = await appWith(t, announced);
    await t.rejects(async () => app.ready(), { message: problem });
  });

t.test('startup fails: a deprecated operation without a deprecation date', async (t) => {
  const { app } = await appWith(t, deprecation);
  app.register(async (scope) => {
    scope.get(
      '/api/v1/silent',
      { schema: { deprecated: true, response: { 200: ref(NoContent) } } },
      async () => null,
    );
  });
  await t.rejects(async () => app.ready(), {
    message: /GET \/api\/v1\/silent is deprecated: say since when/,
  });
});
