// The images in the README exist, are small, and have alternative text. `make screenshots` updates them.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { projectRoot } from '../../src/project.ts';
import { fewChats, HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';

const MAX_BYTES = 60_000;
const names = ['your-api', 'usage', 'chat'] as const;
const fileOf = (name: string) => new URL(`docs/images/${name}.webp`, projectRoot);
const size = { width: 1280, height: 800 };
const WIDTH = 800;

t.setTimeout(1_800_000);

const takes = process.env.SCREENSHOTS === '1';

async function take(page: Page, name: (typeof names)[number], colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
  await page.evaluate('document.activeElement.blur(); document.fonts.ready');
  await page.mouse.move(0, 0);
  await page.waitForTimeout(500);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: 85,
    clip: { x: 0, y: 0, ...size, scale: WIDTH / size.width },
  });
  writeFileSync(fileOf(name), Buffer.from(data, 'base64'));
}

const ANSWER = [
  'For about 300 chats a day, **Plus** is enough. It costs less with yearly billing:',
  '',
  '| Plan | Chats a day | Monthly | Yearly |',
  '|---|--:|--:|--:|',
  '| Free | 50 | – | – |',
  '| Plus | 1,000 | 10.00 USD | 99.60 USD |',
  '| Pro | 10,000 | 30.00 USD | 298.80 USD |',
  '',
  'Check what you use in a day before you decide:',
  '',
  '```bash',
  'curl https://parley.test/api/v1/usage \\',
  '  -H "Authorization: Bearer $PARLEY_KEY"',
  '```',
].join('\n');

/** The events that a language model would stream. */
function eventsOf(content: string): string[] {
  const chunk = (delta: object, finish: string | null) =>
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1_763_596_800,
      model: 'llama3.2',
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
  return [chunk({ role: 'assistant', content }, null), chunk({}, 'stop'), '[DONE]'];
}

async function takeAll(t: Test) {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const dashboard = await startDashboard(
    t,
    '/chat',
    {
      BILLING: 'open',
      CHAT_URL: upstream.url,
      CHAT_MODEL: 'llama3.2',
      PLANS_FILE: fewChats(t, 50, 1000, 20),
    },
    ({ client }) => client.signUp('ada@example.com'),
  );
  const { accountId, client, cookie, database, page, text } = dashboard;
  await page.setViewportSize(size);
  const website = await client.createKey(
    { cookie },
    { name: 'Website', scopes: ['chat', 'usage'], allowed_origins: ['https://www.example.com'] },
  );
  const report = await client.createKey(
    { cookie },
    {
      name: 'Nightly report',
      scopes: ['chat', 'search', 'usage'],
      expires_at: new Date(Date.now() + 60 * 86_400_000).toISOString(),
    },
  );
  await client.createKey({ cookie }, { name: 'A first try', scopes: ['chat'] });
  await database.db.execute(sql`update api_keys set
    created_at = now() - case name when 'Website' then interval '64 days' when 'Nightly report' then interval '30 days' else interval '45 days' end,
    last_used_at = now() - case name when 'Website' then interval '3 minutes' when 'Nightly report' then interval '9 hours' else interval '41 days' end`);
  // A realistic month of usage.
  await database.db.execute(sql`insert into key_usage (account_id, day, key_id, meter, used, requests)
    select ${accountId}::uuid, (now() at time zone 'utc')::date - n, key, 'chat', u, u
    from generate_series(0, 29) as n, (values
      (${website.id}::uuid, 26), (${report.id}::uuid, 9), ('00000000-0000-0000-0000-000000000000'::uuid, 8)) as share (key, used)
    cross join lateral (select greatest(1, used * (('x' || left(md5(n::text), 5))::bit(20)::int % 16 + 6) / 22)) as of_day (u)`);
  await database.db.execute(sql`insert into usage_counters (account_id, day, meter, used) select account_id, day, meter, sum(used) from key_usage group by 1, 2, 3
    union all select ${accountId}::uuid, (now() at time zone 'utc')::date, meter, used from (values ('images', 2), ('search', 17), ('tokens', 18240)) as other (meter, used)`);

  await page.goto(`${HOME}/your-api`);
  await text('3 of 5 keys').waitFor();
  await take(page, 'your-api', 'light');
  await page.goto(`${HOME}/usage`);
  await page.getByRole('img', { name: /over the last 30 days/ }).waitFor();
  await take(page, 'usage', 'dark');

  await upstream.configure({ events: eventsOf(ANSWER) });
  await page.goto(`${HOME}/chat`);
  await page.getByLabel('Your message').fill('Which plan fits a small website?');
  await page.getByLabel('Your message').press('Enter');
  await page.locator('[role=log][aria-busy=false]').getByRole('table').waitFor();
  await take(page, 'chat', 'light');
}

if (takes) t.test('the images are updated', { skip: noDashboard }, takeAll);

t.test('the README shows the images', (t) => {
  const readme = readFileSync(new URL('README.md', projectRoot), 'utf8');
  for (const name of names) {
    t.match(
      readme,
      new RegExp(`!\\[[^\\]]{40,}\\]\\(docs/images/${name}\\.webp\\)`),
      `${name} has alternative text`,
    );
    const { size: bytes } = statSync(fileOf(name));
    t.ok(bytes > 5000 && bytes < MAX_BYTES, `${name}: ${bytes} bytes`);
  }
  t.end();
});
