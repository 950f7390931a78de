// Faults and limits in German: no network, an ended session, a rate limit, models, and images.
import { eq } from 'drizzle-orm';
import t from 'tap';
import { messages } from '../../src/database/tables.ts';
import { fewChats, HOME, noDashboard } from '../support/dashboard-pages.ts';
import { fillConversation, fillConversations } from '../support/dashboard-volume.ts';
import { startGermanDashboard } from '../support/german.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(1_800_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.afterEach(() => upstream.reset());

/** A reply that streams until it is cut off. */
const slow = { chunks: 300, chunkSize: 6, chunkIntervalMs: 200 };

t.test('a missing network, page, or session is explained in German', { skip: noDashboard }, async (t) => {
  const { client, complaints, context, cookie, cutChats, expectRefusals, page, see, setBetween, text } =
    await startGermanDashboard(t, '/chat', { CHAT_URL: upstream.url });
  const field = page.getByLabel('Ihre Nachricht');
  const log = page.getByRole('log');
  const open = (name: string) =>
    page.getByRole('navigation', { name: 'Seiten' }).getByRole('link', { name }).click();
  const again = page.getByRole('button', { name: 'Erneut versuchen' });

  await t.test('being offline before or during a reply is explained in German', async (t) => {
    await text(/^Heute noch/).waitFor();
    await context.setOffline(true);
    await text('Sie sind offline').first().waitFor();
    await field.fill('Ist jemand da?');
    expectRefusals();
    await field.press('Enter');
    await page.getByRole('alert').getByText('Sie sind offline. Stellen Sie').waitFor();
    await see(t, 'chat-offline');
    await context.setOffline(false);
    await upstream.configure(slow);
    await again.click();
    await log.getByText('0xxx').waitFor();
    await context.setOffline(true);
    // A browser that is set offline keeps its open connections.
    cutChats();
    await log.getByText('Sie sind offline. Stellen Sie').waitFor();
    await see(t, 'chat-offline-streaming');
    await context.setOffline(false);
    await page.getByText('Sie sind offline', { exact: true }).waitFor({ state: 'detached' });
  });

  await t.test('a page that cannot be loaded and an outdated tab are in German', async (t) => {
    setBetween({ breaks: '/assets/' });
    await open('Tarif');
    await text('Diese Seite konnte nicht geladen werden.').waitFor();
    await see(t, 'page-not-loaded');
    setBetween({});
    await again.click();
    await page.getByRole('heading', { level: 1, name: 'Tarif' }).waitFor();
    setBetween({ isUpdated: true });
    await open('Nutzung');
    await text('Parley wurde aktualisiert').waitFor();
    await see(t, 'page-updated');
    setBetween({});
    await page.getByRole('button', { name: 'Neu laden' }).click();
    await page.getByRole('heading', { level: 1, name: 'Nutzung' }).waitFor();
  });

  await t.test('an ended session is explained in German', async (t) => {
    await page.goto(`${HOME}/chat`);
    await text(/^Heute noch/).waitFor();
    await client.post('/auth/logout', undefined, { cookie });
    await field.fill('Und jetzt?');
    await field.press('Enter');
    await text('Ihre Sitzung ist beendet.').waitFor();
    await see(t, 'chat-session-ended');
  });

  const others = complaints.filter((one) => !one.startsWith('PageLoadError'));
  t.same(others, []);
});

t.test('the rate limit per minute is explained in German', { skip: noDashboard }, async (t) => {
  const { client, complaints, cookie, expectRefusals, page, see, text } = await startGermanDashboard(
    t,
    '/chat',
    { CHAT_URL: upstream.url, PLANS_FILE: fewChats(t, 50, 1000, 2) },
  );
  await text(/^Heute noch/).waitFor();
  for (let time = 0; time < 2; time += 1) await client.post('/search', { query: 'keys' }, { cookie });
  await page.getByLabel('Ihre Nachricht').fill('Zu früh?');
  expectRefusals(1);
  await page.getByLabel('Ihre Nachricht').press('Enter');
  await page.getByRole('alert').getByText('Ihr Tarif erlaubt 2 Anfragen pro Minute').waitFor();
  await see(t, 'chat-rate-limited');
  t.same(complaints, []);
});

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pixel = { name: 'punkt.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') };
const paste = `(() => {
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob('${PIXEL}'), (character) => character.charCodeAt(0));
  data.items.add(new File([bytes], 'punkt.png', { type: 'image/png' }));
  document.querySelector('form textarea')
    .dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: data }));
})()`;

t.test('models and images are in German', { skip: noDashboard }, async (t) => {
  const targets = [{ upstream: 'a', model: 'test-model' }];
  const { env } = upstreamsFile({
    upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
    models: [
      {
        ...{ name: 'blind', targets, units: 5, capabilities: ['tools', 'json_schema', 'reasoning'] },
        ...{ description: 'Für lange Dokumente.', contextTokens: 128_000 },
      },
      { name: 'sees', targets, units: 1, capabilities: ['tools', 'images'] },
    ],
  });
  const { accountId, complaints, database, page, see, text } = await startGermanDashboard(t, '/chat', env);
  const model = page.getByLabel('Modell');
  const input = page.locator('input[type=file]');

  await t.test('the capabilities of a model are in German', async (t) => {
    await text(
      /^Tools, strukturierte Ausgabe, Reasoning · zählt als 5 Antworten · Für lange Dokumente\. Kontext/,
    ).waitFor();
    await see(t, 'chat-models');
    await page.evaluate(paste);
    await text('Wählen Sie ein anderes Modell, um Bilder anzuhängen.').waitFor();
    await see(t, 'chat-pictures-refused');
  });

  await t.test('attached images and every reason to refuse some are in German', async (t) => {
    await model.selectOption('sees');
    await input.setInputFiles([pixel, pixel]);
    await page.locator('form li img').nth(1).waitFor();
    await see(t, 'chat-pictures');
    await input.setInputFiles({ name: 'a.svg', mimeType: 'image/svg+xml', buffer: Buffer.from('<svg/>') });
    await text('„a.svg“ kann nicht verwendet werden.').waitFor();
    await see(t, 'chat-picture-type');
    await input.setInputFiles(Array.from({ length: 7 }, () => pixel));
    await text('Eine Nachricht kann höchstens 8 Bilder haben.').waitFor();
    await see(t, 'chat-pictures-many');
    await model.selectOption('blind');
    await text('Entfernen Sie die Bilder, oder wählen Sie ein anderes Modell.').waitFor();
    await see(t, 'chat-pictures-blind');
  });

  await t.test('after a reload, a message with images is in German', async (t) => {
    await model.selectOption('sees');
    await upstream.configure({ reply: 'Acht Punkte.' });
    await page.getByLabel('Ihre Nachricht').fill('Was ist das?');
    await page.getByLabel('Ihre Nachricht').press('Enter');
    await page.locator('[role=log][aria-busy=false]').getByText('Acht Punkte.').waitFor();
    await page.reload();
    await page.getByRole('log').locator('li img').nth(7).waitFor();
    await see(t, 'chat-pictures-stored');
  });

  await t.test('long lists of conversations and messages are in German', async (t) => {
    await fillConversations(database.db, accountId, 101, 'Unterhaltung');
    const id = await fillConversation(database.db, accountId, 'Eine lange Unterhaltung', 102);
    await database.db.update(messages).set({ content: 'Hallo' }).where(eq(messages.conversationId, id));
    await page.goto(`${HOME}/chat/${id}`);
    await page.getByRole('button', { name: 'Frühere Nachrichten anzeigen' }).waitFor();
    await page.getByRole('button', { name: 'Ältere anzeigen' }).waitFor();
    await see(t, 'chat-many');
  });

  t.same(complaints, []);
});
