// The usage and plan pages in a real browser, under the dashboard's strict content security policy.
import t from 'tap';
import { savedFile } from '../support/browser.ts';
import { HOME, noDashboard, RESET, startDashboard } from '../support/dashboard-pages.ts';
import { eventually } from '../support/upstream/engine.ts';

t.setTimeout(1_800_000);

t.test('the usage page shows requests, and the plan page changes plans', { skip: noDashboard }, async (t) => {
  const {
    button,
    client,
    complaints,
    context,
    cookie,
    dialog,
    expectRefusals,
    fitsBetween,
    look,
    page,
    setBetween,
    text,
  } = await startDashboard(t, '/usage', { BILLING: 'open' });

  await t.test('the usage page says that there are no requests yet', async (t) => {
    await text('No usage in the last 30 days').waitFor();
    await text('No requests yet').waitFor();
    await look(t, 'usage-empty');
  });

  await t.test('the usage page shows today, 30 days, and every request', async (t) => {
    for (let chat = 1; chat <= 8; chat += 1)
      await client.post('/chat', { message: `Question ${chat}` }, { cookie });
    const key = await client.createKey({ cookie }, { name: 'Website' });
    await client.post('/search', { query: 'keys' }, { key: key.key });
    for (let time = 0; time < 3; time += 1) await client.post('/chat', { message: 'No' }, { key: key.key });
    await client.post('/images/generations', { prompt: 'A hill' }, { cookie });
    const refused = async () => {
      const { data } = (await client.get('/requests?status=429', { cookie })).body;
      return data.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
    };
    await eventually('the refusals are stored', async () => (await refused()) === 3);
    await page.goto(`${HOME}/usage`);
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await page.getByText('8 used', { exact: true }).waitFor();
    await text(`Usage resets at ${RESET}, in `).waitFor();
    await page.getByRole('img', { name: /8 chat replies over the last 30 days/ }).waitFor();
    await text(/today \(UTC\): 8 chat replies/).waitFor();
    await look(t, 'usage');
    await button('Previous day').click();
    await text(/\(UTC\): 0 chat replies/).waitFor();
    await page.getByText('Search', { exact: true }).click();
    await page.getByLabel('Key', { exact: true }).selectOption({ label: `Website (${key.key_prefix}…)` });
    await page.getByRole('img', { name: /1 search over the last 30 days/ }).waitFor();
    await button('Next day').click();
    const log = page.getByRole('heading', { name: 'Requests', exact: true });
    await log.scrollIntoViewIfNeeded();
    await page.getByRole('row', { name: /3 requests refused Website – – 429 quotaExceeded/ }).waitFor();
    await look(t, 'usage-log', log);
    await page.setViewportSize({ width: 390, height: 844 });
    const card = page.getByRole('listitem').filter({ hasText: '3 requests refused' });
    await card.getByRole('button', { name: /^Details/ }).scrollIntoViewIfNeeded();
    t.equal(await page.getByRole('table').count(), 0);
    if (process.env.SCREENSHOTS === '1') await page.screenshot({ path: 'screenshots/usage-cards.png' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await fitsBetween(t, 'usage');
    await page.getByLabel('Status').selectOption('429');
    await page.waitForURL('**/usage?status=429');
    await page.getByRole('row', { name: /POST/ }).first().waitFor({ state: 'detached' });
    await look(t, 'usage-log-refused', log);
    await button(/^Details for 3 requests/).click();
    await dialog.waitFor();
    await look(t, 'usage-details-refused');
    await page.keyboard.press('Escape');
    await page.getByLabel('Status').selectOption('2xx');
    await page.getByLabel('Endpoint').selectOption('POST /api/v1/search');
    await page
      .getByRole('row', { name: /\/chat/ })
      .first()
      .waitFor({ state: 'detached' });
    await button(/^Details for POST/).click();
    await dialog.getByText('Request ID').waitFor();
    await look(t, 'usage-details');
    await page.keyboard.press('Escape');
    const saved = await savedFile(page, () => button('Export CSV').click());
    t.match(saved.text, /^time_utc,kind,.*\r\n[^\r]*,POST \/api\/v1\/search,Website,[^\r]*\r\n$/);
    await page.getByLabel('Status').selectOption('5xx');
    await text('No matching requests').waitFor();
    await look(t, 'usage-log-none', log);
  });

  await t.test('the usage page says that it is loading, failed to load, or is offline', async (t) => {
    setBetween({ holds: '/api/v1/usage' });
    await page.goto(`${HOME}/usage`);
    await text('Loading…').first().waitFor({ state: 'attached' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await look(t, 'usage-loading');
    setBetween({ breaks: '/api/v1/usage' });
    expectRefusals();
    await page.goto(`${HOME}/usage`);
    await text('unexpected response (502)').first().waitFor();
    await look(t, 'usage-failed');
    setBetween({});
    expectRefusals(0);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByText('8 used', { exact: true }).waitFor();
    await context.setOffline(true);
    await text('You are offline').waitFor();
    await look(t, 'usage-offline');
    await context.setOffline(false);
  });

  await t.test('the plan page compares plans, and a change states its price', async (t) => {
    await page.goto(`${HOME}/plan`);
    await text('$10.00 a month').first().waitFor();
    await text('Free').nth(1).waitFor();
    await look(t, 'plan-monthly');
    await page.getByText('Yearly', { exact: true }).click();
    await text('$99.60 billed yearly (save 17%).').waitFor();
    await text('$8.30 a month').waitFor();
    await look(t, 'plan-yearly');
    await button('Change to Plus').click();
    await dialog.getByText('$99.60 a year').first().waitFor();
    await look(t, 'plan-confirm');
    await button('Change to Plus for $99.60 a year').click();
    await text('You are now on the Plus plan, at $99.60 a year.').waitFor();
    t.match((await client.get('/subscription', { cookie })).body, { plan: 'plus', billing_period: 'yearly' });
    await button('Change to Free').click();
    await dialog.getByText('You have already used 8 replies today, and this plan allows 8.').waitFor();
    await look(t, 'plan-downgrade');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    t.match(await page.evaluate('document.activeElement.textContent'), 'Change to Free');
  });

  t.same(complaints, [], 'no console errors');
});

t.test('a plan that the operator manages cannot be changed', { skip: noDashboard }, async (t) => {
  const { button, complaints, look, text } = await startDashboard(t, '/plan');
  await text('To change yours, contact').waitFor();
  t.equal(await button(/^Change to/).count(), 0);
  await look(t, 'plan-managed');
  t.same(complaints, [], 'no console errors');
});
