// Tests of what all metered operations promise run over a table: it names all of them.
import t from 'tap';
import { documentedAsMetered, metered } from './metered.ts';

t.test('the table of metered operations has those of openapi.json', async (t) => {
  const documented = documentedAsMetered();
  t.ok(documented.size >= 7);
  t.same(
    new Map(metered.map(({ meter, path, streams }) => [`POST /api/v1${path}`, { meter, streams }])),
    documented,
  );
});
