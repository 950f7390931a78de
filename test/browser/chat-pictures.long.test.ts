// Images in the chat are selected, pasted, or dropped, and then removed or sent. They survive a reload.
import t from 'tap';
import { savedFile } from '../support/browser.ts';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(600_000);

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pixel = { name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') };

/** Passes a file to the page as a browser does. */
const given = (event: string) => `{
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob('${PIXEL}'), (character) => character.charCodeAt(0));
  data.items.add(new File([bytes], 'given.png', { type: 'image/png' }));
  const options = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
  const element = document.querySelector('form textarea');
  element.dispatchEvent(new ${event});
}`;

/** Drags a file over an element. Evaluates to false if the page keeps the browser from opening the file. */
const dragged = (type: string, selector: string) => `{
  const dataTransfer = new DataTransfer();
  const bytes = Uint8Array.from(atob('${PIXEL}'), (character) => character.charCodeAt(0));
  dataTransfer.items.add(new File([bytes], 'dragged.png', { type: 'image/png' }));
  const options = { bubbles: true, cancelable: true, dataTransfer };
  document.querySelector('${selector}').dispatchEvent(new DragEvent('${type}', options));
}`;

type Part = { type: string; text?: string; image_url?: { url: string } };

t.test('images in the chat', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const targets = [{ upstream: 'a', model: 'test-model' }];
  const { env } = upstreamsFile({
    upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
    models: [
      { name: 'blind', targets, capabilities: ['tools'] },
      { name: 'sees', targets, capabilities: ['images'] },
    ],
  });
  const { button, complaints, dialog, look, page } = await startDashboard(t, '/chat', env);
  page.setDefaultTimeout(60_000);
  const model = page.getByLabel('Model');
  const field = page.getByLabel('Your message');
  const attach = button('Attach images');
  const thumbnails = page.locator('form li img');
  const shown = page.getByRole('log').locator('li img');
  const count = (expected: number) => thumbnails.nth(expected - 1).waitFor();

  /** The contents of the messages in the last request to the model. */
  async function askedLast(): Promise<(string | Part[])[]> {
    const { last } = await upstream.calls();
    const { body } = last.findLast(({ path }) => path.endsWith('/chat/completions')) ?? {};
    return (body as { messages: { content: string | Part[] }[] }).messages.map(({ content }) => content);
  }

  await t.test('images can be attached only if the model accepts them', async (t) => {
    await model.waitFor();
    t.equal(await attach.count(), 0);
    const alert = page.locator('form').getByRole('alert');
    const refused = 'This model does not accept images. Choose another model to attach them.';
    for (const event of ["ClipboardEvent('paste', options)", "DragEvent('drop', options)"]) {
      const goesOn = await page.evaluate(given(event));
      t.equal(goesOn, false, 'the browser does not open the file');
      await alert.waitFor();
      t.equal(await alert.textContent(), refused);
      if (event.includes('paste')) await look(t, 'chat-pictures-refused');
      await model.selectOption('sees');
      await alert.waitFor({ state: 'detached' });
      await attach.waitFor();
      await model.selectOption('blind');
      await attach.waitFor({ state: 'detached' });
    }
    await model.selectOption('sees');
    await attach.waitFor();
  });

  await t.test('images can be selected, pasted, dropped, and removed with the keyboard', async (t) => {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), attach.press('Enter')]);
    await chooser.setFiles([pixel]);
    await count(1);
    await page.evaluate(given("ClipboardEvent('paste', options)"));
    await count(2);
    await page.evaluate(given("DragEvent('drop', options)"));
    await count(3);
    t.equal(await thumbnails.nth(2).getAttribute('alt'), 'Attached image 3 of 3');
    await look(t, 'chat-pictures');
    await button('Remove image 3 of 3').press('Enter');
    await button('Remove image 3 of 3').waitFor({ state: 'detached' });
    t.equal(await thumbnails.count(), 2);
    await field.and(page.locator(':focus')).waitFor();
  });

  await t.test('images can be dropped anywhere on the page, which shows a hint', async (t) => {
    const hint = page.getByText('Drop the images here to attach them.');
    const drag = (type: string, at: string) => page.evaluate(dragged(type, at));
    for (const at of ['h1', '[role=log]', 'body']) {
      t.equal(await drag('dragenter', at), false, 'the browser does not open the file');
      await hint.waitFor();
      if (at === 'h1') await look(t, 'chat-pictures-dragged');
      await drag('dragleave', at);
      await hint.waitFor({ state: 'detached' });
      await drag('dragenter', at);
      await drag('dragenter', 'header');
      await drag('dragleave', at);
      await hint.waitFor();
      t.equal(await drag('drop', 'header'), false);
      await hint.waitFor({ state: 'detached' });
      await count(3);
      await button('Remove image 3 of 3').click();
    }
    await model.selectOption('blind');
    await drag('dragenter', 'h1');
    await page.getByText('Choose another model to attach them.').waitFor();
    await drag('drop', 'h1');
    await page.locator('form').getByRole('alert').waitFor();
    t.equal(await thumbnails.count(), 2);
    await model.selectOption('sees');
  });

  await t.test('an attached image opens at full size', async (t) => {
    await button('Open image 2 of 2').click();
    await dialog.getByRole('img', { name: 'Attached image 2 of 2' }).waitFor();
    await look(t, 'chat-picture-large');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  await t.test('an error says what to do about images that cannot be attached', async (t) => {
    const alert = page.locator('form').getByRole('alert');
    const input = page.locator('input[type=file]');
    await input.setInputFiles({ name: 'a.svg', mimeType: 'image/svg+xml', buffer: Buffer.from('<svg/>') });
    await alert.waitFor();
    t.equal(await alert.textContent(), '“a.svg” cannot be used. Choose a PNG, JPEG, WebP, or GIF.');
    await input.setInputFiles(Array.from({ length: 7 }, () => pixel));
    await page.getByText('A message can have up to 8 images.').waitFor();
    t.equal(await thumbnails.count(), 8);
    await field.fill('What is it?');
    await model.selectOption('blind');
    await page.getByText('This model does not accept images.').waitFor();
    t.ok(await button('Send').isDisabled());
    await model.selectOption('sees');
    for (let left = 8; left > 1; left -= 1) await button(`Remove image ${left} of ${left}`).click();
  });

  await t.test('a large image is scaled down and sent, and images survive a reload', async (t) => {
    const large = (await page.evaluate(`{
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [3000, 1500];
      const context = canvas.getContext('2d');
      for (let n = 0; n < 20000; n++) {
        context.fillStyle = 'hsl(' + (n * 137) % 360 + ' 80% 50%)';
        context.fillRect((n * 7919) % 3000, (n * 104729) % 1500, 40, 40);
      }
      canvas.toDataURL('image/png').split(',')[1];
    }`)) as string;
    const buffer = Buffer.from(large, 'base64');
    await page.locator('input[type=file]').setInputFiles({ name: 'l.png', mimeType: 'image/png', buffer });
    await count(2);
    await field.press('Enter');
    await page.getByText('You said:').nth(0).waitFor({ state: 'attached' });
    await button('Regenerate').waitFor();
    t.equal(await thumbnails.count(), 0);
    const [content] = await askedLast();
    const [text, first, second] = content as Part[];
    t.equal(text?.text, 'What is it?');
    t.equal(first?.image_url?.url, `data:image/png;base64,${PIXEL}`, 'a small image is sent unchanged');
    const scaled = second?.image_url?.url ?? '';
    t.match(scaled, /^data:image\/jpeg;base64,/);
    t.ok(scaled.length <= 500_000, `${buffer.length} bytes became ${scaled.length} characters`);

    await page.reload();
    await shown.nth(1).waitFor();
    t.equal(await shown.nth(0).getAttribute('src'), `data:image/png;base64,${PIXEL}`);
    t.equal(await shown.nth(1).getAttribute('src'), scaled);
    t.equal(await shown.nth(1).evaluate((image) => (image as { naturalWidth?: number }).naturalWidth), 1568);
    await look(t, 'chat-pictures-stored');
    const thumbnail = page.getByRole('log').getByRole('button', { name: 'Open image 2 of 2' });
    await thumbnail.press('Enter');
    t.equal(await dialog.locator('img').getAttribute('src'), scaled);
    await look(t, 'chat-picture-large-stored');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // The focus returns after the dialog closes.
    await thumbnail.and(page.locator(':focus')).waitFor();
  });

  await t.test('Escape closes an open image and does not stop the reply', async (t) => {
    let stops = 0;
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === '/api/v1/chat/cancel') stops += 1;
    });
    await upstream.configure({ chunks: 20_000, chunkSize: 6, chunkIntervalMs: 50 });
    await button('Regenerate').click();
    await page.getByRole('log').getByText('0xxx').waitFor();
    await page.getByRole('log').getByRole('button', { name: 'Open image 1 of 2' }).click();
    await dialog.locator('img').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.evaluate(`fetch('/api/v1/service').then((response) => response.text())`);
    t.equal(stops, 0);
    await button('Stop').click();
    await page.getByText('You stopped this reply.').waitFor();
  });

  await t.test('a regenerated or edited message keeps its images', async (t) => {
    await upstream.reset();
    await button('Regenerate').click();
    await eventually('the request reaches the model', async () => (await upstream.calls()).last.length > 0);
    await button('Regenerate').waitFor();
    const contents = await askedLast();
    t.equal(contents.length, 1, 'the request omits the message and the reply that it replaces');
    t.equal((contents[0] as Part[]).length, 3);
    t.equal(await shown.count(), 2, 'the message still shows both images');
    await button('Edit message').first().click();
    const edited = page.getByLabel('Your edited message');
    t.equal(await edited.inputValue(), 'What is it?');
    await edited.fill('And what is this?');
    await edited.press('Enter');
    await page.getByText('You said: And what is this?', { exact: true }).waitFor();
    await button('Regenerate').waitFor();
    const [asked] = await askedLast();
    t.match(asked, [{ text: 'And what is this?' }, { type: 'image_url' }, { type: 'image_url' }]);
    t.equal((await askedLast()).length, 1, 'the request omits the message that it replaces');
    t.equal(await shown.count(), 2);
  });

  await t.test('a downloaded conversation contains its images', async (t) => {
    await button('Download conversation').click();
    const dialog = page.getByRole('dialog');
    const saved = await savedFile(page, () => dialog.getByRole('button', { name: 'JSON' }).click());
    const [question] = JSON.parse(saved.text).messages;
    t.match(question.images, [{ type: 'image/png', url: `data:image/png;base64,${PIXEL}` }, {}]);
    await dialog.waitFor({ state: 'detached' });
    await button('Download conversation').click();
    const markdown = await savedFile(page, () => dialog.getByRole('button', { name: 'Markdown' }).click());
    t.ok(markdown.text.includes(`![Attached image 1 of 2](data:image/png;base64,${PIXEL})`));
  });

  t.same(complaints, [], 'no console errors');
});

t.test('a model without configured capabilities accepts images', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { button, complaints, page } = await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
  await button('Attach images').waitFor();
  await page.evaluate(given("ClipboardEvent('paste', options)"));
  await page.locator('form li img').waitFor();
  await page.getByLabel('Your message').fill('What is it?');
  await page.getByLabel('Your message').press('Enter');
  await button('Regenerate').waitFor();
  const { last } = await upstream.calls();
  const { body } = last.findLast(({ path }) => path.endsWith('/chat/completions')) ?? {};
  t.match(body, { messages: [{ content: [{ type: 'text' }, { type: 'image_url' }] }] });
  t.same(complaints, [], 'no console errors');
});

t.test('the built-in engine accepts no images', { skip: noDashboard }, async (t) => {
  const { button, page } = await startDashboard(t, '/chat');
  await page.getByText('parley-builtin').waitFor();
  await page.getByText('No language model is connected').waitFor();
  t.equal(await button('Attach images').count(), 0);
  await page.evaluate(given("ClipboardEvent('paste', options)"));
  await page.getByText('This model does not accept images.', { exact: true }).waitFor();
});
