// Lists that are longer than one page of the API, and filters of the request log.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { savedFile } from '../support/browser.ts';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { insertCharges } from '../support/request-log.ts';
import { eventually } from '../support/upstream/engine.ts';

t.setTimeout(1_800_000);

t.test('lists longer than a page', { skip: noDashboard }, async (t) => {
  const {
    accountId,
    button,
    client,
    complaints,
    context,
    cookie,
    database,
    dialog,
    expectRefusals,
    look,
    page,
    text,
  } = await startDashboard(t, '/settings');
  const fill = (count: number, columns: string, values: string, table: string) =>
    database.db.execute(
      sql.raw(
        `insert into ${table} (account_id, ${columns}) select '${accountId}'::uuid, ${values} from generate_series(1, ${count}) as n`,
      ),
    );

  await t.test('the request log loads older requests on demand, and filters by day', async (t) => {
    // Midnight may pass during the test.
    const now = Date.now();
    const day = (before: number) => new Date(now - before * 86_400_000).toISOString().slice(0, 10);
    const on = `(date '${day(0)}' - (n % 3 = 0)::int)`;
    const at = `${on}::timestamp at time zone 'utc' + n * interval '1 second'`;
    await fill(
      120,
      'day, id, endpoint, meter, units, state, process, admitted_at, settled_at, status, latency_ms',
      `${on}, gen_random_uuid(), 'POST /api/v1/search', 'search', 1, 'final', gen_random_uuid(), ${at}, ${at}, 200, n`,
      'requests',
    );
    await page.goto(`${HOME}/usage`);
    const rows = page.getByRole('row', { name: /POST \/api\/v1\/search/ });
    await rows.nth(49).waitFor();
    t.equal(await rows.count(), 50);
    await button('Show older requests').click();
    await rows.nth(99).waitFor();
    await button('Show older requests').click();
    await rows.nth(119).waitFor();
    t.equal(await rows.count(), 120);
    t.equal(await button('Show older requests').count(), 0);
    t.equal(
      await page.locator('section:focus').count(),
      1,
      'the focus moves from the removed button to the section',
    );

    await page.getByLabel('From (UTC day)').fill(day(1));
    await page.getByLabel('To (UTC day)').fill(day(1));
    await page.waitForURL(`**/usage?from=${day(1)}&to=${day(1)}`);
    await eventually('40 rows', async () => (await rows.count()) === 40);
    const saved = await savedFile(page, () => button('Export CSV').click());
    t.equal(saved.name, `parley-requests-from-${day(1)}-to-${day(1)}.csv`);
    const lines = saved.text.trim().split('\r\n').slice(1);
    t.equal(lines.length, 40);
    t.ok(lines.every((line) => line.startsWith(day(1))));
    await page.reload();
    await eventually('40 rows', async () => (await rows.count()) === 40);
    t.equal(await page.getByLabel('To (UTC day)').inputValue(), day(1), 'the URL contains the days');
    await page.getByLabel('To (UTC day)').fill(day(2));
    await text('The end date is before the start date.').waitFor();
    await look(t, 'usage-log-days', page.getByRole('heading', { name: 'Requests', exact: true }));
    await button('Show all requests').click();
    await rows.nth(49).waitFor();
  });

  await t.test('the log finds one request by its request ID', async (t) => {
    await page.goto(`${HOME}/usage`);
    const rows = page.getByRole('row', { name: /POST \/api\/v1\/search/ });
    const answer = await client.post('/search', { query: 'keys' }, { cookie });
    t.match(answer, { status: 200 });
    const id = answer.headers.get('x-request-id') ?? '';
    const field = page.getByLabel('Request ID');
    await button('More filters').click();
    await field.fill(id.slice(0, -1));
    await text('Enter the full 36-character request ID').waitFor();
    await field.fill(` ${id}`);
    await eventually('one row', async () => (await rows.count()) === 1);
    await page.waitForURL(`**/usage?id=${id}`);
    await button(/^Details for POST/).click();
    t.match(await dialog.textContent(), id);
    await page.keyboard.press('Escape');
    await field.fill('01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f');
    await text('No charged request with this ID matches the filters').waitFor();
    await look(t, 'usage-log-id', page.getByRole('heading', { name: 'Requests', exact: true }));
    await field.fill('');
    await eventually('50 rows', async () => (await rows.count()) === 50);
  });

  await t.test('a link to the log works even if the usage of today fails to load', async (t) => {
    expectRefusals();
    await page.route('**/api/v1/usage', (route) => route.fulfill({ status: 500 }));
    await page.goto(`${HOME}/usage?key_id=web#log`);
    await page.locator('#log:focus').waitFor();
    const { y = Number.NaN } = (await page.locator('#log').boundingBox()) ?? {};
    t.ok(y >= 0 && y < 800, `the log is in view, at ${y} px`);
    await page.unroute('**/api/v1/usage');
    await page.goto(`${HOME}/usage`);
    expectRefusals(0);
  });

  await t.test('older conversations load on demand, and search finds any conversation', async (t) => {
    await fill(
      230,
      'id, title, created_at, updated_at',
      `gen_random_uuid(), 'Conversation number ' || n, now() - n * interval '1 hour', now() - n * interval '1 hour'`,
      'conversations',
    );
    await page.goto(`${HOME}/chat`);
    const list = page.getByRole('complementary', { name: 'Conversations' });
    const links = list.getByRole('link');
    await links.nth(99).waitFor();
    t.equal(await links.count(), 100);
    await list.getByRole('button', { name: 'Show older conversations' }).click();
    await links.nth(199).waitFor();
    t.equal(await links.count(), 200);
    await look(t, 'chat-many-conversations');
    await list.getByLabel('Search conversations').fill('number 230');
    await list.getByRole('link', { name: 'Conversation number 230' }).waitFor();
    t.equal(await links.count(), 1);
    await list.getByLabel('Search conversations').fill('');
    await links.nth(199).waitFor();
    await list.getByRole('button', { name: 'Show older conversations' }).click();
    await links.nth(229).waitFor();
    t.equal(await list.getByRole('button', { name: 'Show older conversations' }).count(), 0);
    t.equal(await list.locator('ul:focus').count(), 1, 'the focus moves from the removed button to the list');
    await fill(
      1,
      'id, key_id, title, created_at, updated_at',
      `gen_random_uuid(), gen_random_uuid(), 'Of a key', now(), now()`,
      'conversations',
    );
    await page.reload();
    await links.nth(99).waitFor();
    t.equal(await list.getByRole('link', { name: 'Of a key' }).count(), 0, 'API conversations are hidden');
    await list.getByLabel('Show API conversations').check();
    await list.getByRole('link', { name: 'Of a key' }).waitFor();
    await look(t, 'chat-api-conversations');
    await page.reload();
    await list.getByRole('link', { name: 'Of a key' }).waitFor();
    await list.getByLabel('Show API conversations').uncheck();
    await list.getByRole('link', { name: 'Of a key' }).waitFor({ state: 'detached' });
    t.equal(await links.count(), 100);
    await page.reload();
    await links.nth(99).waitFor();
    t.equal(await list.getByRole('link', { name: 'Of a key' }).count(), 0, 'also after a reload');
  });

  await t.test('more security events load on demand', async (t) => {
    await fill(
      24,
      'id, type, at, address, user_agent, key_id, detail',
      `gen_random_uuid(), 'signInFailed', now() - n * interval '1 minute', '203.0.113.7', '', null, null`,
      'account_events',
    );
    await page.goto(`${HOME}/settings`);
    const failed = page.getByText('203.0.113.7');
    const more = page.getByRole('button', { name: 'Show more', disabled: false });
    await failed.first().waitFor();
    const first = await failed.count();
    t.ok(first < 24, `${first} events at first`);
    for (let click = 0; click < 2; click += 1) {
      const before = await failed.count();
      await more.click();
      await failed.nth(before).waitFor();
    }
    t.equal(await failed.count(), 24);
    t.equal(await button('Show more').count(), 0);
  });

  await t.test('a refused export shows the reason', async (t) => {
    // In parts that each finish before the statement timeout.
    for (let part = 0; part < 12; part += 1) await insertCharges(database.db, accountId, 5000);
    await page.goto(`${HOME}/usage`);
    expectRefusals();
    const problem = page.getByRole('region', { name: 'Requests' }).getByRole('alert');
    await button('Export JSON').waitFor();
    await context.setOffline(true);
    await button('Export JSON').click();
    await problem.getByText('You are offline').waitFor();
    await context.setOffline(false);
    // Unread, and so in progress until it is canceled. Without a reference, the response would be garbage collected.
    const unread = await fetch(`${client.origin}/api/v1/requests/export?format=json`, {
      headers: { cookie },
    });
    t.equal(unread.status, 200);
    await button('Export CSV').click();
    await problem.getByText('This account is already exporting its request log.').waitFor();
    await look(t, 'usage-export-refused', page.getByRole('heading', { name: 'Requests', exact: true }));
    await unread.body?.cancel();
    await database.db.execute(sql`delete from sessions where account_id = ${accountId}::uuid`);
    await button('Export JSON').click();
    await text('Your session has ended. Sign in to continue where you left off.').waitFor();
    expectRefusals(0);
  });

  t.same(complaints, [], 'no console errors');
});
