// Many tests run for each operation in the table of metered operations, so the table must be complete.
import t from 'tap';
import { documentedAsMetered, metered } from './metered.ts';

t.test('the table of metered operations matches openapi.json', async (t) => {
  const documented = documentedAsMetered();
  t.ok(documented.size >= 7);
  t.same(
    new Map(metered.map(({ meter, path, streams }) => [`POST /api/v1${path}`, { meter, streams }])),
    documented,
  );
});
