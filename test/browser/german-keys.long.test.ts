// Keys and plans in German.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { HOME, noDashboard } from '../support/dashboard-pages.ts';
import { startGermanDashboard } from '../support/german.ts';

t.setTimeout(1_800_000);

const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

t.test('the keys page is in German', { skip: noDashboard }, async (t) => {
  const dashboard = await startGermanDashboard(t, '/your-api');
  const { button, client, context, cookie, database, dialog, expectRefusals, page, see, setBetween, text } =
    dashboard;
  const inDialog = (name: string) => dialog.getByRole('button', { name });
  const closed = () => dialog.waitFor({ state: 'detached' });
  const close = async () => {
    await page.keyboard.press('Escape');
    await closed();
  };

  await t.test('keys that are loading or failed to load are in German', async (t) => {
    setBetween({ holds: '/api/v1/keys' });
    await page.reload();
    await text('Wird geladen …').first().waitFor();
    await see(t, 'keys-loading');
    setBetween({ breaks: '/api/v1/keys' });
    expectRefusals();
    await page.reload();
    await text('eine unerwartete Antwort gesendet (502)').waitFor();
    await see(t, 'keys-failed');
    setBetween({});
    await button('Erneut versuchen').click();
    await text('Erstellen Sie Ihren ersten Schlüssel').waitFor();
    expectRefusals(0);
  });

  await t.test('invalid input for a new key is explained in German', async (t) => {
    await button('Schlüssel erstellen').first().click();
    await text('Ablauf und erlaubte Origins').click();
    await dialog.getByLabel('Läuft ab').selectOption('An einem bestimmten Tag');
    await inDialog('Schlüssel erstellen').click();
    await text('Geben Sie einen Namen mit 1 bis 100 Zeichen ein.').waitFor();
    await see(t, 'create-invalid');
    await dialog.getByLabel('Läuft ab').selectOption('Nie');
    await dialog.getByLabel('Name').fill('Webseite');
    const origin = dialog.getByLabel('Origin hinzufügen');
    await origin.fill('http://localhost:5173');
    await origin.press('Enter');
    await text('Das ist keine https-Origin.').waitFor();
    await see(t, 'create-origin-refused');
    await origin.fill('app.example.com');
    await origin.press('Enter');
    await button('https://app.example.com verwenden').waitFor();
    await see(t, 'create-origin-suggested');
    await button('https://app.example.com verwenden').click();
  });

  await t.test('closing a raw key without copying it is confirmed in German', async (t) => {
    await inDialog('Schlüssel erstellen').click();
    await dialog.getByText('Kopieren Sie den Schlüssel jetzt').waitFor();
    await button('Fertig').click();
    await text('Ohne den Schlüssel schließen?').waitFor();
    await see(t, 'raw-key-not-copied');
    await button('Schließen, ohne zu kopieren').click();
    await closed();
  });

  await t.test('refused, removed, and too many origins are in German', async (t) => {
    await button('Origins von Webseite bearbeiten').click();
    const origin = dialog.getByLabel('Origin hinzufügen');
    await origin.fill('https://*.example.com');
    expectRefusals(1);
    await origin.press('Enter');
    await text('Lassen Sie den Platzhalter weg').waitFor();
    await see(t, 'origins-refused');
    for (let number = 2; number <= 10; number += 1) {
      await origin.fill(`https://app-${number}.example.com`);
      await origin.press('Enter');
      await text(`${number} von 10 Origins`).waitFor();
    }
    await see(t, 'origins-full');
    await button('https://app-10.example.com entfernen').click();
    await button('Rückgängig').waitFor();
    await see(t, 'origins-removed');
    await button('Fertig').click();
    await closed();
  });

  await t.test('a rotated key and its old secret are in German', async (t) => {
    await button('Webseite rotieren').click();
    await inDialog('Schlüssel rotieren').click();
    await text('Neues Secret für „Webseite“').waitFor();
    await see(t, 'rotated');
    await button('Schlüssel kopieren').first().click();
    await button('Fertig').click();
    await closed();
    await text(/^Das alte Secret gilt bis/).waitFor();
    await see(t, 'old-secret');
    await button('Jetzt widerrufen: das alte Secret von Webseite').click();
    await dialog.waitFor();
    await see(t, 'end-old-secret');
    await close();
  });

  await t.test('five keys, unused, expiring, and with long names, are in German', async (t) => {
    await database.db.execute(
      sql`update api_keys set created_at = now() - interval '40 days', last_used_at = now() - interval '35 days'`,
    );
    for (const fields of [
      { name: 'Bericht', scopes: ['usage'], expires_at: inDays(3) },
      { name: 'Ein Skript mit einem langen Namen, den jemand an einem Nachmittag eingegeben hat' },
      { name: 'Bilder', scopes: ['images', 'models'], expires_at: inDays(200) },
      { name: 'Alles', allowed_origins: ['https://app.example.com'] },
    ])
      await client.createKey({ cookie }, fields);
    await page.reload();
    await text('5 von 5 Schlüsseln').waitFor();
    await text('Seit 35 Tagen ungenutzt').waitFor();
    await see(t, 'keys-full');
  });

  await t.test('revoked keys, and a revocation without a network, are in German', async (t) => {
    await button('Webseite widerrufen').click();
    await inDialog('Schlüssel widerrufen').click();
    await text('Der Schlüssel „Webseite“ wurde widerrufen.').waitFor();
    await page.getByLabel('Abgelaufene und widerrufene Schlüssel anzeigen').check();
    await text(/^Widerrufen am/).waitFor();
    await see(t, 'keys-inactive');
    await context.setOffline(true);
    await text('Sie sind offline').waitFor();
    await button('Bilder widerrufen').click();
    expectRefusals(1);
    await inDialog('Schlüssel widerrufen').click();
    await dialog.getByText('Sie sind offline. Stellen Sie').waitFor();
    await see(t, 'keys-offline');
    await context.setOffline(false);
    await close();
  });

  t.same(dashboard.complaints, []);
});

t.test('the plan page is in German', { skip: noDashboard }, async (t) => {
  const dashboard = await startGermanDashboard(t, '/settings', { BILLING: 'open' });
  const { button, client, cookie, dialog, page, see, text } = dashboard;
  for (let chat = 0; chat < 8; chat += 1) await client.post('/chat', { message: 'Hallo' }, { cookie });
  const plus = { plan: 'plus', billing_period: 'yearly' };
  t.match(await client.put('/subscription', plus, { cookie }), { status: 200 });
  const close = async () => {
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  };

  await t.test('a lower plan and another billing period are in German', async (t) => {
    await page.goto(`${HOME}/plan`);
    await text(/bei jährlicher Abrechnung \(Sie sparen/)
      .first()
      .waitFor();
    await see(t, 'plan-yearly');
    await button('Zu Free wechseln').click();
    await text('Sie haben heute bereits 8 Antworten genutzt').waitFor();
    await see(t, 'plan-downgrade');
    await close();
    await text('Monatlich').first().click();
    await button('Monatlich abrechnen').click();
    await dialog.waitFor();
    await see(t, 'plan-switch');
    await dialog.getByRole('button', { name: /^Monatlich abrechnen|pro Monat/ }).click();
    await text('Sie nutzen jetzt den Tarif Plus').waitFor();
    await see(t, 'plan-changed');
  });

  t.same(dashboard.complaints, []);
});

t.test('a plan that the operator manages is in German', { skip: noDashboard }, async (t) => {
  const { complaints, page, see, text } = await startGermanDashboard(t, '/plan');
  await text('Um Ihren Tarif zu ändern, wenden Sie sich an').waitFor();
  await see(t, 'plan-managed');
  // The service has no language model.
  await page.goto(`${HOME}/chat`);
  await text('Es ist kein Sprachmodell angebunden.').waitFor();
  await see(t, 'chat-builtin');
  t.same(complaints, []);
});
