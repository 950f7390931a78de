// Every snippet of the README, the SDK's README, and the guides runs unchanged, except those that start a service
// (starts.long.test.ts). The list of results is written to standard error.
import t from 'tap';
import { pages } from './markdown.ts';
import { runPages } from './pages.ts';

t.test('every snippet runs, in page order', async (t) => {
  const list = await runPages(t, pages);
  t.ok(list.length > 90, `${list.length} snippets`);
  console.error(list.join('\n'));
});
