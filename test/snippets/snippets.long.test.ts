// Every snippet of the README, of the SDK's, and of the guides is run as it stands, but for those that start a service
// (starts.long.test.ts). The list goes to standard error.
import t from 'tap';
import { pages } from './markdown.ts';
import { runPages } from './pages.ts';

t.test('pages, in their order', async (t) => {
  const list = await runPages(t, pages);
  t.ok(list.length > 90, `${list.length} snippets`);
  console.error(list.join('\n'));
});
