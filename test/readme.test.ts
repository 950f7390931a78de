// Runs the README's quickstart and the first guide exactly as published. test/snippets runs the snippets of every page.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import t from 'tap';
import { runPages } from './snippets/pages.ts';
import { databaseKinds, startTestService } from './support/service.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const section = readme.split(/^## /m).find((part) => part.startsWith('First chat')) ?? '';
const [, script = ''] = /```bash\n([\s\S]*?)```/.exec(section) ?? [];

for (const kind of databaseKinds) {
  t.test(`${kind}: the quickstart signs up, creates a key, chats, and reads its usage`, async (t) => {
    const { port } = await startTestService(t, kind);
    t.ok(script.includes('http://localhost:3000/api/v1/auth/signup'));
    const swapped = script.replaceAll('http://localhost:3000', `http://127.0.0.1:${port}`);
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-euc', `${swapped}\necho; echo "key=$PARLEY_KEY"`],
      { cwd: t.testdir() },
    );
    t.match(stdout, /"email":"ada@example.com"/);
    t.match(stdout, /key=parley_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}\n$/);
    t.match(stdout, /"reply":"/);
    const today = new Date().toISOString().slice(0, 10);
    const [, usage = ''] = /(\{"plan":"free".*?\}\}|\{"plan":"free".*?Z"\})/.exec(stdout) ?? [];
    t.match(JSON.parse(usage), { used: { chat: 1 }, resetsAt: /T00:00:00\.000Z$/ });
    t.ok(JSON.parse(usage).resetsAt > today);
  });
}

t.test('every snippet in the getting-started guide works', async (t) => {
  const list = await runPages(t, ['docs/guides/getting-started.md']);
  t.ok(list.length > 5);
});
