// Signing in, the account, and its webhook in German.
import t from 'tap';
import { proxyTo, startBrowser } from '../support/browser.ts';
import { HOME, HOST, noDashboard } from '../support/dashboard-pages.ts';
import { startWalk } from '../support/dashboard-walk.ts';
import { germanLook, startGermanDashboard } from '../support/german.ts';
import { startTestService } from '../support/service.ts';
import { anyTarget, startReceiver } from '../support/webhook-receiver.ts';

t.setTimeout(1_800_000);

t.test('the account and its webhook are in German', { skip: noDashboard }, async (t) => {
  const receiver = await startReceiver(t);
  const dashboard = await startGermanDashboard(t, '/settings', anyTarget);
  const { button, client, context, dialog, email, expectRefusals, page, password, see, text } = dashboard;
  const inDialog = (name: string) => dialog.getByRole('button', { name });
  const closed = () => dialog.waitFor({ state: 'detached' });
  const close = async () => {
    await page.keyboard.press('Escape');
    await closed();
  };

  await t.test('changes of the email address and the password are in German', async (t) => {
    await client.signUp('vergeben@example.com');
    await button('E-Mail-Adresse ändern').click();
    await dialog.getByLabel('Neue E-Mail-Adresse').fill('ada');
    await inDialog('E-Mail-Adresse ändern').click();
    await text('Geben Sie Ihr aktuelles Passwort ein.').waitFor();
    await see(t, 'email-invalid');
    await dialog.getByLabel('Neue E-Mail-Adresse').fill('vergeben@example.com');
    await dialog.getByLabel('Aktuelles Passwort').fill(password);
    expectRefusals(1);
    await inDialog('E-Mail-Adresse ändern').click();
    await text('Für diese E-Mail-Adresse gibt es bereits ein Konto.').waitFor();
    await see(t, 'email-taken');
    await close();
    await button('Passwort ändern').click();
    await dialog.getByLabel('Aktuelles Passwort').fill(password);
    await dialog.getByLabel('Neues Passwort').fill('another horse battery');
    await inDialog('Passwort ändern').click();
    await text('Das Passwort wurde geändert.').waitFor();
    await see(t, 'password-changed');
  });

  await t.test('the confirmation that signs out another device is in German', async (t) => {
    await client.post('/auth/login', { email, password: 'another horse battery' });
    await page.reload();
    await button(/, abmelden$/).click();
    await dialog.getByText('wird sofort abgemeldet').waitFor();
    await see(t, 'end-session');
    await close();
  });

  const panel = page.getByRole('region', { name: 'Webhook' });

  await t.test('a webhook that is new, failing, or disabled is in German', async (t) => {
    await button('Webhook einrichten').click();
    await dialog.getByLabel('Adresse').fill(receiver.url);
    await inDialog('Webhook einrichten').click();
    await text('Kopieren Sie das Secret jetzt').waitFor();
    await see(t, 'webhook-secret');
    await inDialog('Fertig').click();
    await closed();
    await panel.getByText('Keine Nachrichten in den letzten 30 Tagen.').waitFor();
    await see(t, 'webhook-new', panel);
    await button('Testnachricht senden').click();
    await panel.getByText('Zugestellt').waitFor();
    receiver.answers = [500, 500, 500, 500];
    const cookies = await context.cookies();
    const session = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    await client.createKey({ cookie: session }, { name: 'Webseite' });
    await page.reload();
    await panel.getByText(/Wird erneut versucht \(bisher 2 Versuche\)/).waitFor();
    await see(t, 'webhook-failing', panel);
    await button('Signatur-Secret ersetzen').click();
    await see(t, 'webhook-replace');
    await inDialog('Secret ersetzen').click();
    await text('Kopieren Sie das Secret jetzt').waitFor();
    await inDialog('Fertig').click();
    await panel.getByText('das ersetzte läuft').waitFor();
    receiver.answers = [410];
    await button('Testnachricht senden').click();
    await panel
      .getByText(/hat 410|410/)
      .first()
      .waitFor();
    await page.reload();
    await panel.getByText('Der Webhook ist deaktiviert').waitFor();
    await see(t, 'webhook-disabled', panel);
    await button('Webhook löschen').click();
    await dialog.waitFor();
    await see(t, 'webhook-delete');
    await close();
  });

  await t.test('an ended session and a deleted account are explained in German', async (t) => {
    await button('Konto löschen').click();
    await dialog.getByLabel('Geben Sie zur Bestätigung').fill(email);
    await dialog.getByLabel('Aktuelles Passwort').fill('not this one');
    expectRefusals(1);
    await inDialog('Konto löschen').click();
    await text('Das aktuelle Passwort ist falsch.').waitFor();
    await see(t, 'delete-account-refused');
    await close();
    await context.clearCookies();
    expectRefusals();
    await page.reload();
    await text('Ihre Sitzung ist beendet.').waitFor();
    await see(t, 'sign-in-ended');
    await page.getByLabel('E-Mail-Adresse').fill(email);
    await page.getByLabel('Passwort', { exact: true }).fill('another horse battery');
    await button('Anmelden').click();
    await button('Konto löschen').click();
    expectRefusals(0);
    await dialog.getByLabel('Geben Sie zur Bestätigung').fill(email);
    await dialog.getByLabel('Aktuelles Passwort').fill('another horse battery');
    await inDialog('Konto löschen').click();
    await text('Ihr Konto wurde gelöscht.').waitFor();
    await see(t, 'sign-in-deleted');
  });

  await t.test('a taken email address and a common password are explained in German', async (t) => {
    await page.getByRole('link', { name: 'Konto erstellen' }).click();
    await page.getByLabel('E-Mail-Adresse').fill('vergeben@example.com');
    for (const [secret, refusal, state] of [
      ['password123', 'Dieses Passwort ist zu verbreitet.', 'sign-up-common'],
      [password, 'Für diese E-Mail-Adresse gibt es bereits ein Konto.', 'sign-up-taken'],
    ] as const) {
      await page.getByLabel('Passwort', { exact: true }).fill(secret);
      expectRefusals(1);
      await button('Registrieren').click();
      await text(refusal).waitFor();
      await see(t, state);
    }
  });

  t.same(dashboard.complaints, []);
});

t.test('a service with closed sign-ups says so in German', { skip: noDashboard }, async (t) => {
  const { port } = await startTestService(t, 'postgres', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
    SIGNUPS: 'closed',
    OPERATOR_CONTACT: 'ops@example.com',
  });
  const { context } = await startBrowser(t, { [HOST]: proxyTo(port) });
  await context.addInitScript(`localStorage.setItem('parley.language', 'de')`);
  const walk = await startWalk(t, context, `${HOME}/`);
  await walk.page.getByText('Bei diesem Dienst ist die Registrierung geschlossen.').waitFor();
  await germanLook(walk)(t, 'sign-up-closed');
  t.same(walk.complaints, []);
});
