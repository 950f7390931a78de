// Replies that are stopped, cut off, or generated without the full conversation.
import t from 'tap';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(900_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

t.test('stopped and truncated replies', { skip: noDashboard }, async (t) => {
  // A quarter of the context is reserved for the reply. The rest fits 135 bytes.
  const { env } = upstreamsFile(several([upstream], {}, { contextTokens: 60 }));
  const { button, complaints, look, page, text } = await startDashboard(t, '/chat', env);
  page.setDefaultTimeout(60_000);
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  const articles = log.getByRole('article');
  const answer = log.getByText('You said: Tell me about rivers', { exact: true });
  const kept = text(/^You stopped this reply\./);
  const mark = text('The reply reached the maximum length and ends here.');
  const slowly = () => upstream.configure({ chunks: 600, chunkIntervalMs: 50 });
  /** Only a stored reply shows the name of its model. */
  const stored = (count: number) =>
    log
      .getByText('public', { exact: true })
      .nth(count - 1)
      .waitFor();
  const ask = async (message: string) => {
    await field.fill(message);
    await field.press('Enter');
  };
  const stop = async () => {
    await log.getByText(/0xx/).waitFor();
    t.equal(await answer.count(), 0, 'the earlier reply is hidden while it may be replaced');
    await button('Stop').click();
    await kept.waitFor();
  };

  await t.test('a stopped regeneration stays below the earlier reply, also after reloads', async (t) => {
    await ask('Tell me about rivers');
    await stored(1);
    await slowly();
    await button('Regenerate').click();
    await stop();
    t.equal(
      await kept.textContent(),
      'You stopped this reply. It still counts toward your daily quota but was not saved, so it is visible only in this tab. The saved conversation still has the earlier reply.',
    );
    t.equal(await answer.count(), 1);
    t.equal(await articles.count(), 4, 'both turns are shown');
    t.match(await articles.last().textContent(), /0xx/, 'the partial reply is visible');
    t.equal(await button(/^Copy reply/).count(), 2, 'both replies can be copied');
    t.match((await page.getByRole('status').allTextContents()).join('\n'), /The reply was stopped: .*0xx/);
    await look(t, 'chat-stopped-kept');
    const shown = await log.innerText();
    await upstream.configure({});
    for (let reload = 0; reload < 2; reload += 1) {
      await page.reload();
      await answer.waitFor();
      await kept.waitFor();
      t.equal(await log.innerText(), shown);
      t.match(await articles.nth(1).textContent(), /You said: Tell me about rivers/);
      t.match(await articles.last().textContent(), /0xx.*You stopped this reply/);
    }
    await button('Regenerate').click();
    await kept.waitFor({ state: 'detached' });
    await stored(1);
    await answer.waitFor();
    t.equal(await articles.count(), 2, 'regenerating again replaces both');
  });

  await t.test('a stopped edit keeps the original message, also after a reload', async (t) => {
    await slowly();
    await button('Edit message').first().click();
    await page.getByLabel('Your edited message').fill('Tell me about lakes');
    await page.getByLabel('Your edited message').press('Enter');
    await stop();
    t.equal(await answer.count(), 1);
    t.equal(await articles.count(), 4);
    await upstream.configure({});
    await page.reload();
    await answer.waitFor();
    await kept.waitFor();
    t.match(await articles.nth(1).textContent(), /You said: Tell me about rivers/);
    t.match(await articles.nth(2).textContent(), /Tell me about lakes/);
    t.equal(await articles.count(), 4);
  });

  await t.test('a reply of the maximum length is marked, also after a reload', async (t) => {
    await page.route('**/api/v1/chat', (route) =>
      route.continue({
        postData: JSON.stringify({ ...route.request().postDataJSON(), max_output_tokens: 3 }),
      }),
    );
    await ask('One two three four five');
    await stored(2);
    t.equal(await mark.count(), 1);
    await page.unroute('**/api/v1/chat');
    await page.reload();
    await stored(2);
    t.equal(await mark.count(), 1);
    t.match(
      await articles.nth(3).textContent(),
      /You stopped this reply/,
      'the stopped reply is above the next message',
    );
  });

  await t.test('a note says how many messages the model did not see', async (t) => {
    await ask('x'.repeat(65));
    await text(
      'The first 2 messages in this conversation did not fit, so the model did not see them.',
    ).waitFor();
    await stored(3);
    await look(t, 'chat-omitted');
  });

  t.same(complaints, []);
});
