// The chat keeps failed messages and the reading position, and stops polling once nothing more can arrive.
import t from 'tap';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { fillConversation, fillConversations } from '../support/dashboard-volume.ts';
import { startUpstream } from '../support/upstream/client.ts';

t.setTimeout(1_800_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.afterEach(() => upstream.reset());

/** A reply that is cut off after three words. */
const broken = { chunks: 20, chunkIntervalMs: 20, fault: 'cut', faultAfter: 3 } as const;

const twoFrames = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';

t.test('failed messages stay in the conversation', { skip: noDashboard }, async (t) => {
  const { button, complaints, expectRefusals, look, page, text } = await startDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
  });
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  const ended = () => page.locator('[role=log][aria-busy=false]').waitFor();
  const ask = async (message: string) => {
    await field.fill(message);
    await field.press('Enter');
  };
  const charged = 'Trying again sends a new request, which is charged separately.';
  const questions = () =>
    page
      .locator('[role=log] article p')
      .filter({ hasText: /^The \w+ question$/ })
      .allTextContents();

  await upstream.configure(broken);
  await ask('The first question');
  await text(charged).waitFor();
  await upstream.configure({});
  await ask('The second question');
  await log.getByText('You said: The second question').waitFor();
  await ended();
  t.same(await questions(), ['The first question', 'The second question']);
  t.equal(await text(charged).count(), 1, 'the note about the charge is still shown');
  await upstream.configure(broken);
  await ask('The third question');
  await text(charged).nth(1).waitFor();
  await upstream.configure({});
  await ask('The fourth question');
  await log.getByText('You said: The fourth question').waitFor();
  await ended();
  const all = ['The first question', 'The second question', 'The third question', 'The fourth question'];
  t.same(await questions(), all);
  await look(t, 'chat-kept-failures');
  await page.reload();
  await log.getByText('You said: The fourth question').waitFor();
  t.same(await questions(), all, 'also after a reload');
  t.equal(await text(charged).count(), 2);

  const path = new URL(page.url()).pathname;
  await button('Try again').first().click();
  await log.getByText('You said: The first question').waitFor();
  await ended();
  t.equal(new URL(page.url()).pathname, path, 'the conversation stays the same');
  await page.reload();
  await log.getByText('You said: The first question').waitFor();
  t.same(await questions(), [all[1], all[2], all[3], all[0]], 'the retried message becomes the latest one');
  expectRefusals(0);
  t.same(complaints, []);
});

t.test('a reload while a reply is in progress resumes the reply', { skip: noDashboard }, async (t) => {
  const { button, chats, complaints, expectRefusals, look, page, text } = await startDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
  });
  const log = page.getByRole('log');
  const interrupted = async (message: string) => {
    await upstream.configure({ chunks: 60, chunkSize: 6, chunkIntervalMs: 100 });
    await page.getByLabel('Your message').fill(message);
    await page.getByLabel('Your message').press('Enter');
    await log.getByText('0xxx').last().waitFor();
    // The service responds that the reply is in progress.
    expectRefusals();
    await page.reload();
    await text('Reply in progress…').waitFor();
    t.equal(await log.getByText(message, { exact: true }).count(), 1, 'the message is shown once');
    t.equal(await text('Conversation not found').count(), 0);
  };

  await interrupted('The first question');
  await look(t, 'chat-resumed');
  await log.getByText('59xx').waitFor();
  expectRefusals(0);
  t.equal(await log.getByRole('article').count(), 2);
  await interrupted('The second question');
  await log.getByText('59xx').nth(1).waitFor();
  expectRefusals(0);
  t.equal(await log.getByRole('article').count(), 4);
  t.equal(new Set(chats).size, 2, 'each message is charged once');
  await interrupted('The third question');
  await button('Sign out').click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  expectRefusals(0);
  t.notMatch(
    await page.evaluate('JSON.stringify(sessionStorage)'),
    /question/,
    'signing out clears the messages from session storage',
  );
  t.same(complaints, []);
});

t.test('the reading position is stable in a long conversation', { skip: noDashboard }, async (t) => {
  const { accountId, button, complaints, database, look, page } = await startDashboard(t, '/chat');
  await fillConversations(database.db, accountId, 200);
  const id = await fillConversation(database.db, accountId, 'A long conversation', 300);
  await page.goto(`${HOME}/chat/${id}`);
  const older = button('Show earlier messages');
  for (const first of [201, 101]) {
    const message = page.getByText(`Question ${first}`, { exact: true });
    await message.waitFor();
    await older.scrollIntoViewIfNeeded();
    const before = await message.boundingBox();
    await older.click();
    await page.getByText(`Question ${first - 100}`, { exact: true }).waitFor({ state: 'attached' });
    await page.evaluate(twoFrames);
    const after = await message.boundingBox();
    const moved = Math.abs((after?.y ?? Number.NaN) - (before?.y ?? 0));
    t.ok(moved <= 2, `message ${first} moves by ${moved} px`);
  }
  t.equal(await page.getByRole('article').count(), 300);
  t.equal(
    await page.evaluate('document.activeElement.role'),
    'log',
    'the focus moves from the removed button to the log',
  );
  // Messages above are laid out at their real height during scrolling.
  const message = page.getByText('Question 95', { exact: true });
  await message.scrollIntoViewIfNeeded();
  await page.evaluate(twoFrames);
  const start = (await message.boundingBox())?.y ?? 0;
  await page.mouse.move(700, 300);
  const scrolled = page.evaluate(
    `new Promise((resolve) => addEventListener('scrollend', resolve, { once: true }))`,
  );
  await page.mouse.wheel(0, -400);
  await scrolled;
  await page.evaluate(twoFrames);
  const moved = ((await message.boundingBox())?.y ?? 0) - start;
  t.ok(Math.abs(moved - 400) <= 2, `scrolling by 400 px moves a message by ${moved} px`);
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await look(t, 'chat-300-messages');
  t.same(complaints, []);
});

t.test('polling ends if a stopped first reply is never stored', { skip: noDashboard }, async (t) => {
  const { button, complaints, expectRefusals, page, text } = await startDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
  });
  // The cancellation does not reach the service.
  await page.route('**/api/v1/chat/cancel', (route) => route.abort());
  await page.clock.install();
  let lists = 0;
  page.on('request', (request) => {
    if (request.method() === 'GET' && new URL(request.url()).pathname === '/api/v1/conversations') lists += 1;
  });
  await upstream.configure({ chunks: 100, chunkSize: 6, chunkIntervalMs: 20, fault: 'cut', faultAfter: 60 });
  await page.getByLabel('Your message').fill('Hello');
  await page.getByLabel('Your message').press('Enter');
  await page.getByRole('log').getByText('0xxx').waitFor();
  expectRefusals();
  await button('Stop').click();
  await text('You stopped the reply here.').waitFor();
  const polled = page.waitForRequest('**/api/v1/conversations?*');
  await page.clock.runFor(4000);
  await polled;
  for (let minute = 0; minute < 15; minute += 1) {
    await page.clock.runFor(60_000);
    await page.evaluate(`fetch('/api/v1/service').then((response) => response.text())`);
  }
  expectRefusals(0);
  const before = lists;
  await page.clock.runFor(300_000);
  await page.evaluate(`fetch('/api/v1/service').then((response) => response.text())`);
  t.equal(lists, before, 'the list is no longer polled');
  t.same(complaints, []);
});
