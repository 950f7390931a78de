// The list of conversations: new conversations, API conversations, and pins.
import t from 'tap';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';

t.setTimeout(1_800_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.afterEach(() => upstream.reset());

/** A reply that takes six seconds. */
const slow = { chunks: 60, chunkSize: 6, chunkIntervalMs: 100 };

/** Records how many rows the first conversation has after each change of the page. */
const watchRows = `(() => {
  globalThis.rowCounts = new Set();
  new MutationObserver(() =>
    rowCounts.add([...document.querySelectorAll('aside li a')].filter(({ title }) => title === 'The first question').length),
  ).observe(document.body, { childList: true, subtree: true });
})()`;

t.test(
  'the list shows a conversation while its first reply is in progress',
  { skip: noDashboard },
  async (t) => {
    const { button, complaints, expectRefusals, look, page } = await startDashboard(t, '/chat', {
      CHAT_URL: upstream.url,
    });
    const field = page.getByLabel('Your message');
    const log = page.getByRole('log');
    const list = page.getByRole('complementary', { name: 'Conversations' });
    const row = (name: string | RegExp) => list.getByRole('link', { name });
    const ended = () => page.locator('[role=log][aria-busy=false]').waitFor();
    const ask = async (message: string) => {
      await field.fill(message);
      await field.press('Enter');
    };

    await t.test('a new conversation is listed once, before, during, and after its reply', async (t) => {
      await list.getByText('Your conversations will appear here.').waitFor();
      await upstream.configure(slow);
      let send = () => {};
      const sent = new Promise<void>((resolve) => {
        send = resolve;
      });
      await page.route('**/api/v1/chat', async (route) => {
        await sent;
        await route.continue();
      });
      await ask('The first question');
      const first = row(/^The first question Replying…$/);
      await first.waitFor();
      t.equal(new URL(page.url()).pathname, '/chat', 'the conversation has no ID yet');
      t.equal(await first.getAttribute('aria-current'), 'page');
      send();
      await log.getByText('0xxx').waitFor();
      t.equal(await first.getAttribute('aria-current'), 'page');
      const height = (await first.boundingBox())?.height;
      await page.evaluate(watchRows);
      await look(t, 'chat-list-answering');
      await row(/^The first question just now$/).waitFor();
      t.same(await page.evaluate('[...rowCounts]'), [1], 'the conversation is always listed exactly once');
      t.equal(
        (await row('The first question').boundingBox())?.height,
        height,
        'the height of the row does not change',
      );
    });

    await t.test('starting a new chat before the first word does not stop the reply', async (t) => {
      const cancelled: string[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/cancel')) cancelled.push(request.url());
      });
      await upstream.configure({ ...slow, firstChunkDelayMs: 10_000 });
      await button('New chat').click();
      await page.waitForURL('**/chat');
      await ask('The question that is left');
      const left = row(/^The question that is left Replying…$/);
      await left.waitFor();
      await button('New chat').click();
      await page.getByRole('heading', { level: 1, name: 'New chat' }).waitFor();
      t.equal(await log.getByRole('article').count(), 0);
      t.equal(await left.getAttribute('aria-current'), null);
      await left.click();
      await log.getByText('The question that is left').waitFor();
      t.equal(await left.getAttribute('aria-current'), 'page');
      await button('New chat').click();
      await log.getByRole('article').first().waitFor({ state: 'detached' });
      await row(/^The question that is left just now$/).waitFor();
      t.equal(new URL(page.url()).pathname, '/chat', 'the new chat stays open');
      await row('The question that is left').click();
      await log.getByText('59xx').waitFor();
      t.same(cancelled, []);
      await button('Delete “The question that is left”').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await row('The question that is left').waitFor({ state: 'detached' });
    });

    await t.test('the reply continues while another conversation is open, and after a reload', async (t) => {
      await upstream.configure({ ...slow, chunkIntervalMs: 500 });
      await button('New chat').click();
      await page.waitForURL('**/chat');
      await ask('The second question');
      await log.getByText('0xxx').waitFor();
      const second = row(/^The second question Replying…$/);
      await row('The first question').click();
      await log.getByText('The first question').waitFor();
      t.equal(await second.getAttribute('aria-current'), null);
      await second.click();
      await log.getByText('The second question').waitFor();
      t.equal(await second.getAttribute('aria-current'), 'page');
      // The service responds that the reply is in progress.
      expectRefusals();
      await page.reload();
      await second.waitFor();
      t.equal(await second.getAttribute('aria-current'), 'page');
      t.equal(await row('The second question').count(), 1);
      await log.getByText('59xx').waitFor();
      await row(/^The second question just now$/).waitFor();
      t.equal(await list.getByRole('link').count(), 2);
      expectRefusals(0);
    });

    await t.test('the row of a stored conversation says that a reply is in progress', async () => {
      await upstream.configure(slow);
      await ask('And then?');
      await row(/^The second question Replying…$/).waitFor();
      await button('Stop').click();
      await ended();
      await row(/^The second question just now$/).waitFor();
    });

    await t.test('a failed conversation is listed only while it is open', async (t) => {
      await upstream.configure({ fault: 'status', status: 500 });
      await button('New chat').click();
      await page.waitForURL('**/chat');
      expectRefusals();
      await ask('The third question');
      const third = row(/^The third question Not saved$/);
      await third.waitFor();
      t.equal(await third.getAttribute('aria-current'), 'page');
      await look(t, 'chat-list-not-saved');
      await row('The first question').click();
      await third.waitFor({ state: 'detached' });
      t.equal(await list.getByRole('link').count(), 2);
      expectRefusals(0);
    });

    t.same(complaints, [], 'no console errors');
  },
);

t.test('pinned conversations', { skip: noDashboard }, async (t) => {
  const { client, complaints, cookie, expectRefusals, look, page, setBetween } = await startDashboard(
    t,
    '/settings',
  );
  for (const message of ['One', 'Two', 'Three']) await client.post('/chat', { message }, { cookie });
  await page.goto(`${HOME}/chat`);
  const list = page.getByRole('complementary', { name: 'Conversations' });
  const titles = () =>
    list.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('title')));
  const pin = list.getByRole('button', { name: 'Pin “One”', exact: true });
  const unpin = list.getByRole('button', { name: 'Unpin “One”' });
  const opacity = () =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('[data-pinned]')).opacity`);
  await pin.waitFor();
  t.same(await titles(), ['Three', 'Two', 'One']);
  await pin.press('Enter');
  await unpin.waitFor();
  t.same(await titles(), ['One', 'Three', 'Two']);
  await unpin.and(page.locator(':focus')).waitFor();
  await page.getByLabel('Your message').focus();
  t.equal(await opacity(), '1', 'the pin is visible without hovering');
  await look(t, 'chat-list-pinned');
  await unpin.press('Space');
  await pin.waitFor();
  t.same(await titles(), ['Three', 'Two', 'One']);
  await pin.and(page.locator(':focus')).waitFor();

  setBetween({ breaks: '/api/v1/conversations/' });
  expectRefusals(1);
  await pin.press('Enter');
  await list.getByRole('alert').waitFor();
  setBetween({});
  await pin.press('Enter');
  await unpin.waitFor();
  t.equal(await list.getByRole('alert').count(), 0);

  const width = async () => (await list.boundingBox())?.width;
  t.equal(await width(), 288);
  await page.setViewportSize({ width: 1279, height: 800 });
  t.equal(await width(), 224);
  await page.setViewportSize({ width: 1280, height: 800 });

  await t.test('the time of last use updates while the page is open', async (t) => {
    await page.clock.install();
    await client.post('/chat', { message: 'Four' }, { cookie });
    await page.reload();
    await list.getByRole('link', { name: /^Four just now$/ }).waitFor();
    await page.clock.fastForward('02:05');
    await list.getByRole('link', { name: /^Four [2-9] minutes ago$/ }).waitFor();
    t.pass('the row updates without any other change');
  });
  t.same(complaints, [], 'no console errors');
});

t.test('a list with only API conversations shows them on demand', { skip: noDashboard }, async (t) => {
  const { client, complaints, cookie, look, page } = await startDashboard(t, '/settings');
  const { key } = await client.createKey({ cookie });
  const { body } = await client.post('/chat', { message: 'From a program' }, { key });
  await page.goto(`${HOME}/chat/${body.conversation_id}`);
  await page.getByRole('heading', { level: 1, name: 'From a program' }).waitFor();
  const list = page.getByRole('complementary', { name: 'Conversations' });
  const link = list.getByRole('link', { name: 'From a program' });
  await list.getByText('You only have API conversations.').waitFor();
  t.equal(await link.count(), 0);
  await look(t, 'chat-list-only-api');
  await list.getByLabel('Show API conversations').press('Space');
  await link.waitFor();
  t.equal(await link.getAttribute('aria-current'), 'page');
  t.ok(await list.getByLabel('Show API conversations').evaluate((one) => one.matches(':focus')));
  t.same(complaints, [], 'no console errors');
});
