// Syntax highlighting and formulas in replies. Their scripts load only when a reply needs them.
import t from 'tap';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';

t.setTimeout(1_800_000);

const reply = `Prices are $5 and $10. Set \`$HOME\` first.

\`\`\`ts
// A comment.
export const half = (value: number): string => \`\${value / 2}\`;
\`\`\`

\`\`\`sql
SELECT count(*) FROM requests WHERE state = 'final' AND units > 1;
\`\`\`

\`\`\`python
@cached
def area(radius: float) -> float:
    """The area."""
    return 3.14 * radius**2
\`\`\`

\`\`\`no-such-language
export const plain = 1;
\`\`\`

The area is \\(\\pi r^2\\), and $e^{i\\pi} = -1$. In full:

\\[
\\int_0^1 x^2\\,dx = \\frac{1}{3}
\\]

$$a^2 + b^2 = c^2$$

This one has a mistake: \\(\\frac{1\\).
`;

t.test('code and formulas in a reply', { skip: noDashboard }, async (t) => {
  const { client, complaints, cookie, database, look, page } = await startDashboard(t, '/settings');
  const scripts: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/(highlight|katex)[^/]*\.js$/.test(pathname)) scripts.push(pathname.replace(/.*\/(\w+)-.*/, '$1'));
  });
  const ask = async () =>
    (await client.post('/chat', { message: 'What is a scope?' }, { cookie })).body.conversation_id as string;
  const [plain, id] = [await ask(), await ask()];
  const show = async (content: string, conversation: string) => {
    const text = content.replaceAll("'", "''");
    await database.db.execute(
      `update messages set content = '${text}' where conversation_id = '${conversation}' and role = 'assistant'`,
    );
    await page.goto(`${new URL(page.url()).origin}/chat/${conversation}`);
  };

  await t.test('a reply without code blocks and formulas loads neither script', async (t) => {
    await show('It costs $5, or `$6`.', plain);
    await page.getByText('It costs $5').waitFor();
    await page.waitForLoadState('networkidle');
    t.same(scripts, []);
  });

  await t.test('code is highlighted by language, and its text is unchanged', async (t) => {
    await show(reply, id);
    const code = page.locator('[role="log"] pre code');
    await page.locator('[role="log"] .hljs-keyword').first().waitFor();
    t.equal(await code.count(), 4);
    await code.nth(3).scrollIntoViewIfNeeded();
    for (const n of [0, 1, 2]) await code.nth(n).locator('.hljs-keyword').first().waitFor();
    t.equal(`${await code.nth(0).textContent()}\n`, /```ts\n([\s\S]*?)```/.exec(reply)?.[1]);
    t.equal(await code.nth(3).locator('span').count(), 0, 'code in an unknown language is not highlighted');
  });

  await t.test('formulas are MathML, while prices and invalid formulas stay text', async (t) => {
    const formulas = page.locator('[role="log"] math');
    await formulas.nth(3).waitFor();
    t.equal(await formulas.count(), 4);
    t.equal(await page.locator('[role="log"] math[display="block"]').count(), 2);
    const prices = page.getByText('Prices are $5 and $10.');
    t.equal(await prices.count(), 1);
    t.match(await page.locator('[role="log"]').textContent(), /mistake: .*\\frac\{1/);
  });

  await look(t, 'chat-code');
  t.same([...new Set(scripts)].sort(), ['highlight', 'katex']);
  t.same(complaints, []);
});
