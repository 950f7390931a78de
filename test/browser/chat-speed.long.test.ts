// Measures how fast the chat is in a long conversation. Prints the measurements; only the page content is checked.
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { fillConversation, fillConversations, section } from '../support/dashboard-volume.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

t.setTimeout(1_800_000);

const MESSAGES = 300;
const CONVERSATIONS = 200;
const STREAMED = 40_000;
const THROTTLE = 4;
const TYPED = 'What did we say about the second point, and how does it fit the first one?';

/** Times each key press until the frame with its letter ends. `keyShown(n)` resolves once that of the nth has ended. */
const watchKeys = `(() => {
  window.keyTimes = [];
  const shown = new EventTarget();
  window.keyShown = async (count) => {
    while (keyTimes.length < count) await new Promise((resolve) => shown.addEventListener('key', resolve, { once: true }));
  };
  addEventListener('keydown', () => {
    const start = performance.now();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        window.keyTimes.push(performance.now() - start);
        shown.dispatchEvent(new Event('key'));
      };
      port2.postMessage(null);
    });
  }, true);
})()`;

/** The browser reports only tasks longer than 50 ms. */
const watchTasks = `(() => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longTasks.push(duration);
  }).observe({ type: 'longtask' });
})()`;

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.ceil(values.length * share) - 1] ?? 0;

const ms = (value: number) => `${Math.round(value)} ms`;

async function typeSlowly(page: Page, text: string): Promise<number[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: THROTTLE });
  await page.getByLabel('Your message').focus();
  await page.evaluate(watchKeys);
  for (const [at, letter] of [...text].entries()) {
    await page.keyboard.press(letter === ' ' ? 'Space' : letter);
    await page.evaluate(`keyShown(${at + 1})`);
  }
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  return page.evaluate<number[]>('keyTimes');
}

const reportKeys = (where: string, keys: readonly number[]) =>
  console.error(
    `a key press ${where}, CPU throttled ${THROTTLE} times: median ${ms(percentile(keys, 0.5))}, ` +
      `p98 ${ms(percentile(keys, 0.98))}, max ${ms(Math.max(...keys))}`,
  );

/** Pastes as a user does. `fill` inserts line by line, which takes Chromium many seconds. Returns the time in ms. */
async function paste(page: Page, text: string): Promise<number> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
  await page.getByLabel('Your message').selectText();
  const start = performance.now();
  await page.keyboard.press('ControlOrMeta+V');
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))');
  return performance.now() - start;
}

const drawn = (elements: Locator) =>
  elements.evaluateAll(
    (all) =>
      all.filter((each) => each.firstElementChild?.checkVisibility({ contentVisibilityAuto: true })).length,
  );

t.test('of 300 messages, only those near the screen are laid out', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { accountId, complaints, context, database, page } = await startDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
  });
  const bare = await context.newPage();
  await bare.setContent('<label>Your message <textarea></textarea></label>');
  reportKeys('in a page with only a text field', await typeSlowly(bare, TYPED));
  await bare.close();
  await page.getByRole('heading', { level: 1, name: 'New chat' }).waitFor();
  reportKeys('in a new chat', await typeSlowly(page, TYPED));
  await page.getByLabel('Your message').fill('');
  await fillConversations(database.db, accountId, CONVERSATIONS);
  const id = await fillConversation(database.db, accountId, 'A long conversation', MESSAGES);
  await page.goto(`https://parley.test/chat/${id}`);
  const articles = page.getByRole('article');
  const older = page.getByRole('button', { name: 'Show earlier messages' });
  for (let shown = 100; shown < MESSAGES; shown += 100) {
    await older.click();
    await articles.nth(shown + 99).waitFor();
  }
  t.equal(await articles.count(), MESSAGES);
  await eventually('off-screen messages are not laid out', async () => (await drawn(articles)) < 30);
  const rows = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: /^Pin / }) });
  t.ok((await rows.count()) >= 100);
  await eventually('off-screen conversations are not laid out', async () => (await drawn(rows)) < 40);

  const keys = await typeSlowly(page, TYPED);
  t.equal(await page.getByLabel('Your message').inputValue(), TYPED);
  reportKeys(`with ${MESSAGES} messages and ${CONVERSATIONS} conversations`, keys);

  await upstream.configure({ tokensPerSecond: 1000 });
  const sections = Array.from({ length: Math.ceil(STREAMED / section(1).length) }, (_, at) => section(at));
  const question = sections.join('');
  console.error(`pasted ${question.length} characters in ${ms(await paste(page, question))}`);
  t.equal(await page.getByLabel('Your message').inputValue(), question);
  await page.evaluate(watchTasks);
  const start = performance.now();
  await page.getByLabel('Your message').press('Enter');
  await page.locator('[role=log][aria-busy=true]').waitFor();
  await page.locator('[role=log][aria-busy=false]').waitFor();
  const took = performance.now() - start;
  const tasks = await page.evaluate<number[]>('longTasks');
  t.ok(await page.getByRole('heading', { name: `Part ${sections.length - 1}` }).count());
  console.error(
    `a reply of ${question.length} characters in ${ms(took)}: ${tasks.length} tasks over 50 ms, the ` +
      `longest ${ms(Math.max(0, ...tasks))}, total ${ms(tasks.reduce((sum, task) => sum + task, 0))}`,
  );
  t.same(complaints, []);
});
