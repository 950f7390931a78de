// What users can do while a reply streams, and which keys stop the reply or send a message.
import t from 'tap';
import { clipboardText } from '../support/browser.ts';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(1_800_000);

/** Streams for longer than the test. */
const endless = { chunks: 20_000, chunkSize: 6, chunkIntervalMs: 50 };
/** Safari ends a composition before the key event that confirms it. */
const ofInputMethod = [{ isComposing: true }, { keyCode: 229 }];

t.test('while a reply streams', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const targets = [{ upstream: 'a', model: 'test-model' }];
  const { env } = upstreamsFile({
    upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
    models: [
      { name: 'large', targets },
      { name: 'small', targets },
    ],
  });
  const { button, complaints, context, dialog, look, page, text } = await startDashboard(t, '/chat', env);
  page.setDefaultTimeout(60_000);
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  const edited = page.getByLabel('Your edited message');
  let stops = 0;
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/api/v1/chat/cancel') stops += 1;
  });
  /** A key press has taken effect once the service has responded to another request. */
  const stopsSoFar = async () => {
    await page.evaluate(`fetch('/api/v1/service').then((response) => response.text())`);
    return stops;
  };

  await field.fill('The first');
  await field.press('Enter');
  await log.getByText('You said: The first').waitFor();
  await button('Regenerate').waitFor();
  await button('Edit message').click();
  await edited.waitFor();
  await upstream.configure(endless);
  await field.fill('The second');
  await field.press('Enter');
  await log.getByText('0xxx').waitFor();

  await t.test('earlier messages keep the Copy button and the name of their model', async (t) => {
    t.ok(await button('Copy reply').isVisible());
    t.ok(await log.getByText('large', { exact: true }).isVisible());
    t.ok(await log.getByRole('button', { name: 'Cancel' }).isVisible(), 'editing can be canceled');
    t.notOk(await log.locator('button[type=submit]').isVisible(), 'but the edit cannot be sent');
    t.notOk(await log.locator('article').nth(2).getByText('Edit', { exact: true }).isVisible());
    await button('Copy reply').click();
    t.match(await clipboardText(context, page), 'You said: The first');
    await look(t, 'chat-while-answering');
  });

  await t.test('Escape stops the reply only if nothing else handles the key', async (t) => {
    await edited.press('Escape');
    await edited.waitFor({ state: 'detached' });
    t.equal(await stopsSoFar(), 0, 'Escape cancels an edit');
    await page.getByLabel('Search conversations').first().fill('words');
    await page.keyboard.press('Escape');
    t.equal(await stopsSoFar(), 0, 'Escape clears the search field');
    await page.getByLabel('Model', { exact: true }).focus();
    await page.keyboard.press('Escape');
    t.equal(await stopsSoFar(), 0, 'Escape closes a list of options');
    for (const press of ofInputMethod) await field.dispatchEvent('keydown', { key: 'Escape', ...press });
    t.equal(await stopsSoFar(), 0, 'Escape ends a composition');
    await page.evaluate(`(() => {
      document.body.addEventListener('keydown', (event) => event.preventDefault(), { once: true });
      document.body.dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }));
    })()`);
    t.equal(await stopsSoFar(), 0, 'another listener handles Escape');
    const edit = page.getByRole('complementary', { name: 'Conversations' }).getByLabel(/^Edit “/);
    await page.getByLabel('Search conversations').first().fill('');
    await button('New chat').focus();
    await edit.first().click();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    t.equal(await stopsSoFar(), 0, 'Escape closes a dialog');
    // Closes the tooltip of the button that opened the dialog.
    await page.getByRole('heading', { level: 1 }).hover();
    await page.getByRole('tooltip').waitFor({ state: 'detached' });
    await field.press('Escape');
    await text('You stopped the reply here.').waitFor();
    t.equal(await stopsSoFar(), 1);
    await upstream.configure({});
  });

  await t.test('Escape outside the message field stops the reply', async () => {
    await upstream.configure(endless);
    await field.fill('The third');
    await field.press('Enter');
    await button('Stop').waitFor();
    await log.getByText('0xxx').nth(1).waitFor();
    await page.getByRole('heading', { level: 1 }).focus();
    await page.keyboard.press('Escape');
    await text('You stopped the reply here.').nth(1).waitFor();
  });
  t.same(complaints, [], 'no console errors');
});

t.test('keys that send a message', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const env = { CHAT_URL: upstream.url };
  const { button, chats, complaints, context, page } = await startDashboard(t, '/chat', env);
  page.setDefaultTimeout(60_000);
  const field = page.getByLabel('Your message');
  const edited = page.getByLabel('Your edited message');
  const log = page.getByRole('log');

  await t.test('keys that an input method handles neither send a message nor cancel an edit', async (t) => {
    await field.fill('Kon');
    for (const press of ofInputMethod) {
      await field.dispatchEvent('keydown', { key: 'Enter', ...press });
      t.equal(await field.inputValue(), 'Kon', 'the message is not sent');
    }
    await field.press('Enter');
    await log.getByText('You said: Kon').waitFor();
    await button('Edit message').click();
    await edited.fill('Konnichi');
    for (const key of ['Enter', 'Escape'])
      for (const press of ofInputMethod) {
        await edited.dispatchEvent('keydown', { key, ...press });
        t.equal(await edited.count(), 1, `${key} neither sends nor cancels the edit`);
      }
    await edited.press('Enter');
    await log.getByText('You said: Konnichi').waitFor();
    t.equal(chats.length, 2);
  });

  await t.test('on a touchscreen, Enter adds a line, and Ctrl+Enter sends the message', async (t) => {
    const hint = page.locator('form:has([enterkeyhint])').getByText(/^Press Enter/);
    t.equal(await field.getAttribute('enterkeyhint'), 'send');
    t.match(await hint.textContent(), /^Press Enter to send/);
    const touch = await context.newCDPSession(page);
    await touch.send('Emulation.setTouchEmulationEnabled', { enabled: true });
    await page.locator('textarea[enterkeyhint=enter]').waitFor();
    t.match(await hint.textContent(), /^Press Enter for a new line/);
    await field.fill('One');
    await field.press('Enter');
    await field.pressSequentially('Two');
    t.equal(await field.inputValue(), 'One\nTwo');
    await button('Send').click();
    await log.getByText('You said: One').waitFor();
    await field.fill('Three');
    await field.press('Control+Enter');
    await log.getByText('You said: Three').waitFor();
    await button('Edit message').last().click();
    await edited.fill('Four');
    await edited.press('Enter');
    t.equal(await edited.inputValue(), 'Four\n');
    await edited.press('Control+Enter');
    await log.getByText('You said: Four').waitFor();
    t.equal(chats.length, 5);
  });
  t.same(complaints, []);
});
