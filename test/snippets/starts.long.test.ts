// Every command in the README and the guides that starts a service runs. The results are written to standard error.
import t from 'tap';
import { startUpstream } from '../support/upstream/client.ts';
import { pages, type Snippet, snippetsOf } from './markdown.ts';
import { isStart, runStart } from './starts.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

/** A command that is on several pages runs once. */
const commands = new Map<string, Snippet[]>();
for (const snippet of pages.flatMap(snippetsOf).filter(isStart))
  commands.set(snippet.code, [...(commands.get(snippet.code) ?? []), snippet]);
t.ok(commands.size > 10, `${commands.size} commands`);

for (const [code, snippets] of commands) {
  const places = snippets.map(({ file, line }) => `${file}:${line}`).join(', ');
  t.test(`${places} bash: ${code}`, async (t) => {
    const [snippet] = snippets;
    if (snippet) await runStart(t, snippet, upstream);
    console.error(`${places} bash: ${t.passing() ? 'serves with the documented settings' : 'FAILED'}`);
  });
}
