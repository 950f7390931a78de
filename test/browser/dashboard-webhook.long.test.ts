// The webhook in Settings: setting up, testing, disabling, and deleting it, with a real receiver.
import t from 'tap';
import { clipboardText } from '../support/browser.ts';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { anyTarget, arrives, startReceiver, verify } from '../support/webhook-receiver.ts';

t.setTimeout(1_800_000);

t.test('a webhook can be set up, tested, disabled, and deleted', { skip: noDashboard }, async (t) => {
  const receiver = await startReceiver(t);
  const { button, client, complaints, context, cookie, dialog, expectRefusals, hosts, look, page, text } =
    await startDashboard(t, '/settings', anyTarget);
  const panel = page.getByRole('region', { name: 'Webhook' });
  const inPanel = (words: string | RegExp) => panel.getByText(words);

  await t.test('an invalid URL is refused at its field', async (t) => {
    await button('Set up a webhook').click();
    await dialog.getByLabel('URL').fill('ftp://hooks.example.com');
    expectRefusals(1);
    await dialog.getByRole('button', { name: 'Set up webhook' }).click();
    await dialog.getByRole('alert').waitFor();
    t.match(await dialog.getByRole('alert').textContent(), /^Enter an https URL/);
    await look(t, 'webhook-set-up');
  });

  await t.test('setup shows the secret, which verifies the test message', async (t) => {
    await dialog.getByLabel('URL').fill(receiver.url);
    await dialog.getByRole('button', { name: 'Set up webhook' }).click();
    await dialog.getByText('Copy the secret now').waitFor();
    await look(t, 'webhook-secret');
    await dialog.getByRole('button', { name: /^Copy/ }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    const secret = await clipboardText(context, page);
    t.match(secret, /^whsec_/);
    await inPanel('No messages in the last 30 days.').waitFor();
    await button('Send a test message').click();
    verify(await arrives(receiver, 'webhook.test'), secret);
    await inPanel('Delivered').waitFor();
    await look(t, 'webhook-delivered', panel);
  });

  await t.test('a failed message shows the reason and the time of the next attempt', async (t) => {
    receiver.answers = [500, 500, 500, 500];
    await client.createKey({ cookie }, { name: 'Website' });
    await inPanel('Delivered').waitFor();
    await page.reload();
    await inPanel('Key “Website” created').waitFor();
    await inPanel(/The endpoint returned 500\. Retrying \(2 attempts so far\)\./).waitFor();
    await inPanel(/^Next attempt: /).waitFor();
    await look(t, 'webhook-failing', panel);
  });

  await t.test('after the secret is replaced, the page says when the old secret stops working', async (t) => {
    await button('Replace the signing secret').click();
    await dialog.getByRole('button', { name: 'Replace secret' }).click();
    await dialog.getByText('Copy the secret now').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await inPanel('the old secret stops working').waitFor();
    t.pass();
  });

  await t.test('status 410 disables the webhook, and it can be enabled again', async (t) => {
    receiver.answers = [410];
    await button('Send a test message').click();
    await arrives(receiver, 'webhook.test', 2);
    await inPanel('The endpoint returned 410.').waitFor();
    await page.reload();
    await inPanel('The webhook is disabled').waitFor();
    await look(t, 'webhook-disabled', panel);
    await button('Enable webhook').click();
    await inPanel('The webhook is disabled').waitFor({ state: 'detached' });
    t.equal((await client.get('/webhook', { cookie })).body.data.disabled_at, null);
  });

  await t.test('a deleted webhook can be set up again', async (t) => {
    await button('Delete webhook').click();
    await dialog.getByRole('button', { name: 'Delete webhook' }).click();
    await dialog.waitFor({ state: 'detached' });
    await button('Set up a webhook').waitFor();
    t.equal((await client.get('/webhook', { cookie })).body.data, null);
    await text('Key created').first().waitFor();
  });

  t.same(complaints, []);
  t.same([...hosts], [new URL(HOME).host]);
});
