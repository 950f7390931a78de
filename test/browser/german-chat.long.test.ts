// The chat in German: replies that stream, are stopped, or fail, and the list of conversations.
import t from 'tap';
import { fewChats, HOME, noDashboard } from '../support/dashboard-pages.ts';
import { startGermanDashboard } from '../support/german.ts';
import { startUpstream } from '../support/upstream/client.ts';

t.setTimeout(1_800_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.afterEach(() => upstream.reset());

const ANSWER = 'Gern. Wir beginnen mit einer Liste und prüfen sie gemeinsam.';
/** A reply that streams until it is stopped. */
const slow = { chunks: 300, chunkSize: 6, chunkIntervalMs: 200 };

const chunk = (delta: Record<string, string>, finish: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] });
const thinking = [
  chunk({ role: 'assistant', content: '' }),
  ...Array.from({ length: 300 }, () => chunk({ reasoning_content: 'Hm. ' })),
];
const cutOff = [chunk({ role: 'assistant', content: ANSWER }), chunk({}, 'length'), '[DONE]'];

/** Starts a dashboard with an open chat. `ask` sends a message. */
async function startChat(t: Parameters<typeof startGermanDashboard>[0], quota: number) {
  const dashboard = await startGermanDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
    PLANS_FILE: fewChats(t, quota),
  });
  const { button, page, text } = dashboard;
  const field = page.getByLabel('Ihre Nachricht');
  const stop = async () => {
    await button('Stoppen').click();
    await page.locator('[role=log][aria-busy=false]').waitFor();
  };
  return {
    ...dashboard,
    field,
    log: page.getByRole('log'),
    ask: async (question: string, settings: Parameters<typeof upstream.configure>[0]) => {
      await upstream.configure(settings);
      await field.fill(question);
      await field.press('Enter');
    },
    answered: () => page.locator('[role=log][aria-busy=false]').getByText(ANSWER).last().waitFor(),
    begin: async () => {
      await page.goto(`${HOME}/chat`);
      await text(/^Heute noch/).waitFor();
    },
    stop,
  };
}

t.test('the chat is in German while replies stream, stop, and fail', { skip: noDashboard }, async (t) => {
  const chat = await startChat(t, 50);
  const { ask, begin, button, cutChats, dialog, expectRefusals, field, log, page, see, stop, text } = chat;

  await t.test('a new chat and its settings are in German', async (t) => {
    await text('Heute noch 50 von 50 Antworten').waitFor();
    await see(t, 'chat-empty');
    await button('Einstellungen der Unterhaltung').click();
    await dialog.getByLabel('Temperatur').fill('9');
    await dialog.getByText('Geben Sie eine Zahl von 0 bis 2 ein.').waitFor();
    await see(t, 'chat-settings');
    // Both are accepted. They are typed, because `fill` does not enter single characters.
    for (const typed of ['0.5', '0,7']) {
      await dialog.getByLabel('Temperatur').fill('');
      await dialog.getByLabel('Temperatur').pressSequentially(typed);
      t.equal(await dialog.getByLabel('Temperatur').inputValue(), typed.replace('.', ','));
    }
    await dialog.getByRole('button', { name: 'Speichern' }).click();
    await dialog.waitFor({ state: 'detached' });
    await button('Einstellungen der Unterhaltung').click();
    t.equal(await dialog.getByLabel('Temperatur').inputValue(), '0,7');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await field.fill('a'.repeat(100_001));
    await text(/^Eine Nachricht kann höchstens/).waitFor();
    // The field has its maximum height, and covers the content above it until the page scrolls.
    await see(t, 'chat-too-long', button(/^Nenne mir/));
  });

  await t.test('a reply is in German before it begins, streaming, and stopped', async (t) => {
    await ask('Was tun wir heute?', { firstChunkDelayMs: 60_000 });
    await log.getByText('Warten auf die Antwort …').waitFor();
    await see(t, 'chat-waiting');
    await stop();
    await text('Sie haben gestoppt, bevor die Antwort begonnen hat.').waitFor();
    await see(t, 'chat-stopped-before');
    await begin();
    await ask('Was tun wir morgen?', slow);
    await log.getByText('0xxx').waitFor();
    await see(t, 'chat-streaming');
    await stop();
    await text('Sie haben die Antwort hier gestoppt.').waitFor();
    await see(t, 'chat-stopped');
    await page.reload();
    await text('Sie haben die Antwort hier gestoppt. Sie zählt trotzdem zum Tageskontingent.').waitFor();
    await see(t, 'chat-stopped-stored');
    await ask('Und danach?', { events: thinking, chunkIntervalMs: 200 });
    await log.getByText('Das Modell denkt nach …').waitFor();
    await see(t, 'chat-thinking');
    await stop();
  });

  await t.test('a cut-off reply and the form to edit a message are in German', async (t) => {
    await begin();
    await ask('Was steht auf der Liste?', { events: cutOff });
    await text('Die Antwort hat die maximale Länge erreicht').waitFor();
    await see(t, 'chat-cut');
    await button('Nachricht bearbeiten').click();
    await text('Sie ersetzt die ursprüngliche und alles danach.').waitFor();
    await see(t, 'chat-edit');
    await page.keyboard.press('Escape');
    await button('Unterhaltung herunterladen').click();
    await dialog.waitFor();
    await see(t, 'chat-download');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await upstream.configure(slow);
    await button('Neu erzeugen').click();
    await log.getByText('0xxx').waitFor();
    await stop();
    await text('Sie haben diese Antwort gestoppt. Sie zählt weiterhin zum Tageskontingent').waitFor();
    await see(t, 'chat-stopped-kept');
  });

  await t.test('settings that were not saved are explained in German', async (t) => {
    await begin();
    await button('Einstellungen der Unterhaltung').click();
    await dialog.getByLabel('Anweisungen').fill('Kurz.');
    await dialog.getByRole('button', { name: 'Speichern' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.route('**/api/v1/conversations/*', (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    );
    expectRefusals(1);
    await ask('Wie geht es weiter?', { reply: ANSWER });
    await text('Die Einstellungen dieser Unterhaltung wurden nicht gespeichert.').waitFor();
    await see(t, 'chat-settings-not-saved');
    await page.unroute('**/api/v1/conversations/*');
    await button('Einstellungen speichern').click();
    await button('Einstellungen speichern').waitFor({ state: 'detached' });
  });

  await t.test('failed replies are explained in German', async (t) => {
    // The reply continues after the connection is lost.
    await ask('Hören Sie mich?', { ...slow, chunks: 100 });
    await log.getByText('0xxx').waitFor();
    expectRefusals();
    cutChats();
    await text('Die Verbindung ist abgebrochen, bevor die Antwort vollständig war.').waitFor();
    await see(t, 'chat-lost');
    await begin();
    await ask('Ist jemand da?', { chunks: 20, chunkIntervalMs: 20, fault: 'cut', faultAfter: 3 });
    await text('Ein erneuter Versuch sendet eine neue Anfrage, die gesondert berechnet wird.').waitFor();
    await see(t, 'chat-broken');
    await begin();
    await ask('Ist noch jemand da?', { fault: 'status', status: 500 });
    await page.getByRole('alert').waitFor();
    await text('Nicht gespeichert').waitFor();
    await see(t, 'chat-failed');
    await begin();
    await ask('Passt das alles?', { fault: 'status', status: 400, code: 'context_length_exceeded' });
    await text('Die Unterhaltung ist zu lang für dieses Modell.').waitFor();
    await page.reload();
    await text('Die Unterhaltung ist zu lang für dieses Modell.').waitFor();
    await see(t, 'chat-too-long');
    await page.goto(`${HOME}/chat/01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f`);
    await page.getByRole('heading', { name: 'Unterhaltung nicht gefunden' }).waitFor();
    await see(t, 'chat-not-found');
  });

  await t.test('after a reload, a reply in progress is labeled in German', async (t) => {
    await begin();
    await ask('Wie lange dauert es?', slow);
    await log.getByText('0xxx').waitFor();
    await page.reload();
    await text('Die Antwort wird noch erstellt …').waitFor();
    await see(t, 'chat-resumed');
    await stop();
    expectRefusals(0);
  });

  await t.test('the chat says in German that a message was not sent', async (t) => {
    await begin();
    await page.route('**/api/v1/chat', () => {});
    await ask('Kommt das an?', {});
    expectRefusals();
    await stop();
    await text('Sie haben gestoppt, bevor dies gesendet wurde. Es wurde nichts berechnet.').waitFor();
    expectRefusals(0);
    await see(t, 'chat-unsent');
    await page.unroute('**/api/v1/chat');
  });

  await t.test('a reply that finished before it was stopped is offered in German', async (t) => {
    await begin();
    await page.route('**/api/v1/chat/cancel', (route) =>
      route.fulfill({
        status: 409,
        json: { error: { code: 'alreadyFinished', message: 'It is finished.', status: 409 } },
      }),
    );
    await page.route('**/api/v1/chat', () => {});
    await ask('Geht es weiter?', {});
    expectRefusals(1);
    await stop();
    await button('Vollständige Antwort anzeigen').waitFor();
    await see(t, 'chat-left');
    await page.unroute('**/api/v1/chat');
  });

  t.same(chat.complaints, []);
});

t.test('the list of conversations is in German', { skip: noDashboard }, async (t) => {
  const chat = await startChat(t, 5);
  const { answered, ask, begin, button, client, cookie, dialog, expectRefusals, field, page, see, text } =
    chat;
  const list = page.getByRole('complementary', { name: 'Unterhaltungen' });
  const search = list.getByLabel('Unterhaltungen durchsuchen');

  await t.test('a list with only API conversations says so in German', async (t) => {
    await upstream.configure({ reply: ANSWER });
    const { key } = await client.createKey({ cookie }, { name: 'Skript' });
    await client.post('/chat', { message: 'Von einem Programm' }, { key });
    await begin();
    await list.getByText('Sie haben nur API-Unterhaltungen.').waitFor();
    await see(t, 'chat-only-api');
    await list.getByLabel('API-Unterhaltungen anzeigen').press('Space');
    await list.getByRole('link', { name: 'Von einem Programm' }).waitFor();
    await see(t, 'chat-api');
  });

  await t.test('pinned conversations and search results are in German', async (t) => {
    await ask('Wie viele Tage hat der Februar?', { reply: ANSWER });
    await answered();
    await list.getByRole('button', { name: '„Wie viele Tage hat der Februar?“ anheften' }).press('Enter');
    await list.getByRole('button', { name: '„Wie viele Tage hat der Februar?“ loslösen' }).waitFor();
    await see(t, 'chat-pinned');
    await search.fill('februar');
    await list.locator('mark').first().waitFor();
    await see(t, 'chat-search');
    await search.fill('nichts davon');
    await list.getByText('Keine passenden Unterhaltungen.').waitFor();
    await see(t, 'chat-none-found');
    await search.fill('');
    await page.setViewportSize({ width: 390, height: 844 });
    await button(/^Unterhaltungen$/).click();
    await dialog.getByRole('link', { name: 'Wie viele Tage' }).waitFor();
    await see(t, 'chat-list-dialog');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  await t.test('the dialogs that edit and delete a conversation are in German', async (t) => {
    await list.getByRole('button', { name: /^„Wie viele Tage.* bearbeiten$/ }).click();
    await dialog.getByLabel('Titel').fill('');
    await dialog.getByRole('button', { name: 'Speichern' }).click();
    await dialog.getByText('Geben Sie einen Titel mit 1 bis 120 Zeichen ein.').waitFor();
    await see(t, 'chat-edit-conversation');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await list.getByRole('button', { name: /^„Wie viele Tage.* löschen$/ }).click();
    await dialog.getByText('werden endgültig gelöscht').waitFor();
    await see(t, 'chat-delete');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  await t.test('signing out with a draft asks for confirmation in German', async (t) => {
    await field.fill('Noch nicht gesendet');
    await button('Abmelden').click();
    await dialog.getByText('Sie haben eine nicht gesendete Nachricht. Trotzdem abmelden?').waitFor();
    await see(t, 'sign-out-draft');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await field.fill('');
  });

  await t.test('a spent daily quota is explained in German', async (t) => {
    await begin();
    await text('Heute noch 3 von 5 Antworten').waitFor();
    const messages = [{ role: 'user', content: 'Hallo' }];
    t.match(await client.post('/chat/completions', { messages, n: 3 }, { cookie }), { status: 200 });
    await field.fill('Noch eine?');
    expectRefusals(1);
    await field.press('Enter');
    await text('Die heutigen Antworten sind aufgebraucht').waitFor();
    await see(t, 'chat-out-of-quota');
  });

  t.same(chat.complaints, []);
});
