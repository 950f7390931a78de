// What becomes of answers that were stopped, cut off, or made without all of the conversation.
import t from 'tap';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(900_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

t.test('answers in the chat', { skip: noDashboard }, async (t) => {
  // A quarter is for the reply. The others hold 135 bytes.
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
  /** Only a stored answer names its model. */
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
    t.equal(await answer.count(), 0, 'hidden while it may be replaced');
    await button('Stop').click();
    await kept.waitFor();
  };

  await t.test('a stopped regeneration stays below the earlier answer, also after reloads', async (t) => {
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
    t.equal(await articles.count(), 4, 'both turns');
    t.match(await articles.last().textContent(), /0xx/, 'what was generated can be read');
    t.equal(await button(/^Copy reply/).count(), 2, 'and copied');
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
    t.equal(await articles.count(), 2, 'another try replaces both');
  });

  await t.test('a stopped edit leaves the original, also after a reload', async (t) => {
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

  await t.test('an answer of the maximum length is marked, also when it is stored', async (t) => {
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
    t.match(await articles.nth(3).textContent(), /You stopped this reply/, 'above the next question');
  });

  await t.test('what the model did not see is said', async (t) => {
    await ask('x'.repeat(65));
    await text(
      'The first 2 messages in this conversation did not fit, so the model did not see them.',
    ).waitFor();
    await stored(3);
    await look(t, 'chat-omitted');
  });

  t.same(complaints, []);
});
