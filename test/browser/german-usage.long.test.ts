// Usage and the request log in German.
import { eq } from 'drizzle-orm';
import t from 'tap';
import { usageCounters } from '../../src/database/tables.ts';
import { HOME, noDashboard } from '../support/dashboard-pages.ts';
import { fillRequests } from '../support/dashboard-volume.ts';
import { startGermanDashboard } from '../support/german.ts';
import { eventually } from '../support/upstream/engine.ts';

t.setTimeout(1_800_000);

t.test('the usage page is in German', { skip: noDashboard }, async (t) => {
  const dashboard = await startGermanDashboard(t, '/usage');
  const { accountId, button, client, complaints, context, cookie, database, dialog } = dashboard;
  const { expectRefusals, page, see, setBetween, text } = dashboard;
  const log = page.getByRole('heading', { name: 'Anfragen', exact: true });
  const filter = (name: string) => page.getByLabel(name, { exact: true });
  const close = async () => {
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  };

  await t.test('usage that is empty, loading, failed, or offline is in German', async (t) => {
    await text('Keine Nutzung in den letzten 30 Tagen').waitFor();
    await text('Noch keine Anfragen').waitFor();
    await see(t, 'usage-empty');
    setBetween({ holds: '/api/v1/usage' });
    await page.reload();
    await text('Wird geladen …').first().waitFor({ state: 'attached' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await see(t, 'usage-loading');
    setBetween({ breaks: '/api/v1/usage' });
    expectRefusals();
    await page.reload();
    await text('eine unerwartete Antwort gesendet (502)').first().waitFor();
    await see(t, 'usage-failed');
    setBetween({});
    await page.reload();
    await text('Noch keine Anfragen').waitFor();
    expectRefusals(0);
    await context.setOffline(true);
    await text('Sie sind offline').waitFor();
    await see(t, 'usage-offline');
    await context.setOffline(false);
    await text('Sie sind offline').waitFor({ state: 'detached' });
  });

  const key = await client.createKey({ cookie }, { name: 'Webseite' });

  await t.test('a spent quota and refused requests are in German', async (t) => {
    for (let chat = 0; chat < 8; chat += 1) await client.post('/chat', { message: 'Hallo' }, { cookie });
    await client.post('/search', { query: 'keys' }, { key: key.key });
    for (let time = 0; time < 3; time += 1) await client.post('/chat', { message: 'Nein' }, { key: key.key });
    const refused = async () => (await client.get('/requests?status=429', { cookie })).body.data[0]?.count;
    await eventually('the refusals are stored', async () => (await refused()) === 3);
    await page.reload();
    await text('Nichts mehr von 8').waitFor();
    await button(/^Details zu 3 Anfragen abgelehnt/).waitFor();
    await see(t, 'usage-spent');
    await button(/^Details zu 3 Anfragen abgelehnt/).click();
    await dialog.waitFor();
    await see(t, 'usage-details-refused');
    await close();
    await text('Als Tabelle anzeigen').click();
    const table = page.getByRole('table', { name: 'Nutzung pro Tag (UTC), die neuesten Tage zuerst' });
    await table
      .getByRole('rowheader', { name: /^\d\d\.\d\d\.\d{4}$/ })
      .first()
      .waitFor();
    await see(t, 'usage-table');
  });

  await t.test('filters, with and without results, are in German', async (t) => {
    await button('Mehr Filter').click();
    await filter('Anfrage-ID').fill('01932f5e');
    await text('Geben Sie die vollständige Anfrage-ID').waitFor();
    await see(t, 'usage-filters', log);
    // The narrow layout has moved the filters into a dialog and back.
    await button('Mehr Filter').click();
    await filter('Anfrage-ID').fill('01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f');
    await text('Keine berechnete Anfrage mit dieser ID entspricht den Filtern.').waitFor();
    await see(t, 'usage-no-id', log);
    await filter('Anfrage-ID').fill('');
    await filter('Status').selectOption('5xx');
    await text('Keine passenden Anfragen').waitFor();
    await see(t, 'usage-none-found', log);
    await filter('Status').selectOption('429');
    await filter('Endpunkt').selectOption('POST /api/v1/search');
    await text('Sie werden ohne Endpunkt gespeichert').waitFor();
    await see(t, 'usage-no-endpoint', log);
    await page.goto(`${HOME}/usage?from=2026-01-02&to=2026-01-01`);
    await text('Das Ende liegt vor dem Anfang.').waitFor();
    await see(t, 'usage-turned-around', log);
  });

  await t.test('5,000 requests and more than ten million tokens are in German', async (t) => {
    await fillRequests(database.db, accountId, key.id, 2500);
    await fillRequests(database.db, accountId, null, 2500);
    await database.db
      .update(usageCounters)
      .set({ used: 12_345_678 })
      .where(eq(usageCounters.meter, 'tokens'));
    await page.goto(`${HOME}/usage`);
    await button('Ältere Anfragen anzeigen').waitFor();
    await page
      .getByRole('radiogroup', { name: 'Art der Nutzung' })
      .getByText('Tokens', { exact: true })
      .click();
    await page.getByRole('img', { name: /^Balkendiagramm: 12\.345\.678 Tokens/ }).waitFor();
    await see(t, 'usage-5000-requests');
    for (const days of [7, 90]) {
      await page
        .getByRole('radiogroup', { name: 'Zeitraum' })
        .getByText(`${days} Tage`, { exact: true })
        .click();
      await page.getByRole('img', { name: `in den letzten ${days} Tagen` }).waitFor();
      await see(t, `usage-${days}-days`);
    }
    await filter('Status').selectOption('5xx');
    await button(/^Details zu POST/)
      .first()
      .click();
    await dialog.waitFor();
    await see(t, 'usage-details-failed');
    await close();
  });

  t.same(complaints, []);
});
