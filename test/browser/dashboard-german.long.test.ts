// The dashboard in German: selecting the language, localized numbers and dates, and layouts that fit long words.
import t from 'tap';
import { proxyTo, startBrowser } from '../support/browser.ts';
import { fewChats, HOME, HOST, noDashboard } from '../support/dashboard-pages.ts';
import { startWalk } from '../support/dashboard-walk.ts';
import { germanLook } from '../support/german.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const EMAIL = 'ada@example.com';
const PASSWORD = 'correct horse battery';

/** Sets the languages of an Austrian browser, and records every heading that the page shows. */
const init = `Object.defineProperty(navigator, 'languages', { get: () => ['fr', 'de-AT', 'en'] });
  globalThis.headings = [];
  new MutationObserver(() => {
    const text = document.querySelector('h1')?.textContent;
    if (text && headings.at(-1) !== text) headings.push(text);
  }).observe(document, { childList: true, subtree: true });`;

t.setTimeout(1_800_000);

t.test('the dashboard is in German', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream({ reply: 'Gern. Der erste Schritt ist einfach.' });
  t.teardown(() => upstream.stop());
  const service = await startTestService(t, 'postgres', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
    BILLING: 'open',
    CHAT_URL: upstream.url,
    ...operatorEnv,
    OPERATOR_CONTACT: 'ops@example.com',
    PLANS_FILE: fewChats(t, 5, 1000),
  });
  const { context } = await startBrowser(t, { [HOST]: proxyTo(service.port) });
  await context.addInitScript(init);
  const walk = await startWalk(t, context, `${HOME}/`);
  const { complaints, expectRefusals, page } = walk;
  const lookAt = germanLook(walk);
  page.setDefaultTimeout(120_000);
  const devtools = await context.newCDPSession(page);
  await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'UTC' });

  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const text = (words: string | RegExp) => page.getByText(words);
  const heading = (name: string) => page.getByRole('heading', { level: 1, name });
  const dialog = page.getByRole('dialog');
  const close = async () => {
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  };
  const openPage = async (name: string) => {
    await page.getByRole('navigation', { name: 'Seiten' }).getByRole('link', { name }).click();
    // The heading of the chat page is the title of the conversation.
    if (name !== 'Chat') await heading(name).waitFor();
  };
  const see = (name: string) => lookAt(t, name);
  const lang = () => page.evaluate<string>('document.documentElement.lang');

  await t.test('the first supported browser language is used, and users can select another', async (t) => {
    await heading('Konto erstellen').waitFor();
    t.same([await lang(), await page.title()], ['de', 'Registrieren · Parley']);
    await see('sign-up');
    await page.getByLabel('Sprache').focus();
    await page.getByLabel('Sprache').selectOption('English');
    await heading('Create an account').waitFor();
    t.equal(await lang(), 'en');
    t.equal(await page.evaluate('document.activeElement.id'), 'language', 'the focus does not move');
    await page.reload();
    await heading('Create an account').waitFor();
    t.same(await page.evaluate('headings'), ['Create an account'], 'without a flash of German');
    await page.getByLabel('Language').selectOption('Deutsch');
    await heading('Konto erstellen').waitFor();
    await page.reload();
    await heading('Konto erstellen').waitFor();
    t.same(await page.evaluate('headings'), ['Konto erstellen'], 'without a flash of English');
  });

  await t.test('errors are in German', async (t) => {
    await button('Registrieren').click();
    await text('Geben Sie eine E-Mail-Adresse ein, zum Beispiel ada@example.com.').waitFor();
    await see('sign-up-invalid');
    await page.getByRole('link', { name: 'Anmelden' }).click();
    await page.getByLabel('E-Mail-Adresse').fill(EMAIL);
    await page.getByLabel('Passwort', { exact: true }).fill(PASSWORD);
    expectRefusals(1);
    await button('Anmelden').click();
    await text('Die E-Mail-Adresse oder das Passwort ist falsch.').waitFor();
    await see('sign-in-refused');
    await page.getByRole('link', { name: 'Konto erstellen' }).click();
    await page.getByLabel('E-Mail-Adresse').fill(EMAIL);
    await page.getByLabel('Passwort', { exact: true }).fill(PASSWORD);
    await button('Registrieren').click();
    await heading('Ihre API').waitFor();
    t.equal(await page.title(), 'Ihre API · Parley');
  });

  await t.test('the page and the dialogs for keys are in German', async () => {
    await see('no-key');
    await button('Schlüssel erstellen').first().click();
    await page.getByLabel('Name').fill('Website');
    await page.getByText('Ablauf und erlaubte Origins').click();
    await see('create-key');
    await dialog.getByRole('button', { name: 'Schlüssel erstellen' }).click();
    await dialog.getByText('Kopieren Sie den Schlüssel jetzt').waitFor();
    await see('raw-key');
    await dialog.getByRole('button', { name: 'Schlüssel kopieren' }).click();
    await dialog.getByRole('button', { name: 'Fertig' }).click();
    await dialog.waitFor({ state: 'detached' });
    await see('keys');
    for (const [action, state] of [
      ['Origins von Website bearbeiten', 'origins'],
      ['Website rotieren', 'rotate'],
      ['Website widerrufen', 'revoke'],
    ] as const) {
      await button(action).click();
      await dialog.waitFor();
      await see(state);
      await close();
    }
  });

  await t.test('a chat and its usage are in German', async () => {
    await openPage('Chat');
    await text('Heute noch 5 von 5 Antworten').waitFor();
    await see('chat');
    await page.getByLabel('Ihre Nachricht').fill('Wie beginne ich?');
    await page.getByLabel('Ihre Nachricht').press('Enter');
    await text('Heute noch 4 von 5 Antworten').waitFor();
    await button('Neu erzeugen').waitFor();
    await see('answer');
    await openPage('Nutzung');
    await page
      .getByRole('img', { name: /^Balkendiagramm: 1 Chat-Antwort in den letzten 30 Tagen/ })
      .waitFor();
    await page.getByText(/^\d{1,2}\. (\w+\.?), heute \(UTC\): 1 Chat-Antwort$/).waitFor();
    await button(/^Details zu POST/).waitFor();
    await see('usage');
    await button(/^Details zu POST/).click();
    await dialog.getByText(/^\d{1,2}\. .+, \d\d:\d\d:\d\d UTC$/).waitFor();
    await dialog.getByText('1 Antwort (berechnet)').waitFor();
    await see('request');
    await close();
    await text(/^Das Kontingent erneuert sich in (\d+ Std\. )?\d+ Min\., um 00:00 Uhr UTC\.$/).waitFor();
  });

  await t.test('plans have German plurals, numbers, and prices', async () => {
    await openPage('Tarif');
    await text('1.000 Antworten pro Tag').waitFor();
    await see('plan');
    await page.getByText('Jährlich', { exact: true }).click();
    await text(/^\d+,\d\d\s\$ bei jährlicher Abrechnung/)
      .first()
      .waitFor();
    await button('Zu Plus wechseln').click();
    await dialog.getByText(/Für Free zahlen Sie derzeit nichts\./).waitFor();
    await see('change-plan');
    await dialog.getByRole('button', { name: /^Für .+\s\$ pro Jahr zu Plus wechseln$/ }).click();
    await text(/^Sie nutzen jetzt den Tarif Plus für .+\s\$ pro Jahr\.$/).waitFor();
  });

  await t.test('the settings and an API error are in German', async () => {
    await openPage('Konto');
    await text('Tarif geändert').waitFor();
    await text(/Anmeldung: (gerade eben|vor \d+ Minuten?)/).waitFor();
    await see('settings');
    await button('Passwort ändern').click();
    await dialog.getByLabel('Aktuelles Passwort').fill('not this one');
    await dialog.getByLabel('Neues Passwort').fill('another horse battery');
    expectRefusals(1);
    await dialog.getByRole('button', { name: 'Passwort ändern' }).click();
    await dialog.getByText('Das aktuelle Passwort ist falsch.').waitFor();
    await see('password');
    await close();
    await button('Webhook einrichten').click();
    await see('webhook');
    await close();
    await button('Konto löschen').click();
    await see('delete-account');
    await close();
  });

  await t.test('the operator pages are in German', async () => {
    const { cookie } = await signInOperator(service);
    const [name = '', value = ''] = cookie.split(/=(.*)/);
    await context.addCookies([{ name, value, url: HOME, httpOnly: true, secure: true, sameSite: 'Strict' }]);
    await page.goto(`${HOME}/operator`);
    await text('Auslastung und Zustand des Dienstes').waitFor();
    await text('Hintergrundaufgaben').waitFor();
    await see('operator');
    await page.getByRole('link', { name: 'Konten', exact: true }).click();
    await heading('Konten').waitFor();
    await page.getByRole('link', { name: EMAIL }).waitFor();
    await see('operator-accounts');
    await page.getByRole('link', { name: EMAIL }).click();
    await text(/^Chat: 1 von 1\.000, Bilder: 0 von 50/).waitFor();
    await see('operator-account');
    await page.getByRole('link', { name: 'Betreiberprotokoll' }).click();
    await text('auf der Kommandozeile').first().waitFor();
    await see('operator-log');
  });

  await t.test('a page that does not exist is in German', async () => {
    expectRefusals(1);
    await page.goto(`${HOME}/nowhere`);
    await heading('Seite nicht gefunden').waitFor();
    await see('nowhere');
  });

  t.same(complaints, [], 'no console errors or policy violations');
});
