// While a reply streams, the view stays at its message until the reader scrolls.
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';

t.setTimeout(1_800_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.afterEach(() => upstream.reset());

/** Below the header, in px. */
const TOP = 72;
const NEAR = 2;
/** A reply that streams for a minute unless it is stopped. */
const long = { chunks: 2000, chunkSize: 60, chunkIntervalMs: 30 };

const twoFrames = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';
const offset = `document.documentElement.scrollHeight - innerHeight - scrollY`;

const yOf = async (of: Locator): Promise<number> => (await of.boundingBox())?.y ?? Number.NaN;
const isNear = (y: number, expected: number): boolean => Math.abs(y - expected) <= NEAR;

/** Resolves once the reply has grown by this many pixels and the page has had time to scroll. */
async function grown(page: Page, px: number): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const answer = [...document.querySelectorAll('[role=log] article')].at(-1);
    const before = answer.offsetHeight;
    new ResizeObserver((_, observer) => {
      if (answer.offsetHeight < before + ${px}) return;
      observer.disconnect();
      resolve();
    }).observe(answer);
  })`);
  await page.evaluate(twoFrames);
}

t.test('a message stays at the top while its reply grows', { skip: noDashboard }, async (t) => {
  const { button, complaints, page } = await startDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
  });
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  const question = (text: string) => log.getByText(text, { exact: true });
  const end = button('Scroll to the end');
  const ask = async (message: string) => {
    await field.fill(message);
    await field.press('Enter');
    await question(message).waitFor();
    await page.evaluate(twoFrames);
  };
  const ended = () => page.locator('[role=log][aria-busy=false]').waitFor();
  const stop = async () => {
    await page.keyboard.press('Escape');
    await ended();
  };

  await t.test('the first question moves to the top, and the end of a short reply is in view', async (t) => {
    await ask('One?');
    await log.getByText('You said: One?').waitFor();
    await ended();
    await page.evaluate(twoFrames);
    const y = await yOf(question('One?'));
    t.ok(isNear(y, TOP), `at ${y} px`);
    t.equal(await end.count(), 0, 'the end is in view');
  });

  await t.test('a long reply does not scroll the view, and a button jumps to its end', async (t) => {
    await upstream.configure(long);
    await ask('Two?');
    t.ok(isNear(await yOf(question('Two?')), TOP), 'the message is at the top immediately');
    await end.waitFor();
    await grown(page, 300);
    const y = await yOf(question('Two?'));
    t.ok(isNear(y, TOP), `at ${y} px`);
    await end.click();
    await end.waitFor({ state: 'detached' });
    await grown(page, 300);
    t.ok(Number(await page.evaluate(offset)) < 80, 'from then on, the view follows the end');
    t.ok((await yOf(question('Two?'))) < 0);
  });

  await t.test(
    'after the reader scrolls up, the view stays put; after they scroll to the end, it follows the end',
    async (t) => {
      await page.mouse.move(700, 300);
      await page.mouse.wheel(0, -400);
      await end.waitFor();
      await page.evaluate(twoFrames);
      const before = await page.evaluate('scrollY');
      await grown(page, 300);
      t.equal(await page.evaluate('scrollY'), before);
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      await end.waitFor({ state: 'detached' });
      await grown(page, 300);
      t.ok(Number(await page.evaluate(offset)) < 80);
      await stop();
    },
  );

  await t.test('a reload shows a long reply from its message, and a short reply to its end', async (t) => {
    await page.reload();
    await question('Two?').waitFor();
    await page.evaluate(twoFrames);
    const y = await yOf(question('Two?'));
    t.ok(isNear(y, TOP), `at ${y} px`);
    await end.waitFor();
    await upstream.configure({});
    await ask('Three?');
    await log.getByText('You said: Three?').waitFor();
    await ended();
    t.ok(isNear(await yOf(question('Three?')), TOP));
    await page.reload();
    await question('Three?').waitFor();
    await page.evaluate(twoFrames);
    t.ok((await yOf(question('Three?'))) > TOP + 100, 'earlier messages are in view too');
    t.ok(Number(await page.evaluate(offset)) <= 1, 'the end is in view');
  });

  await t.test('a long message leaves half of the view for its reply', async (t) => {
    await field.fill('word '.repeat(3000));
    await field.press('Enter');
    await log.getByText(/^You said: word/).waitFor();
    await ended();
    await page.evaluate(twoFrames);
    const { height, y } = (await log.locator('article').nth(-2).boundingBox()) ?? { height: 0, y: 0 };
    const dock = await yOf(page.locator('form').filter({ has: field }));
    t.ok(isNear(y + height, (TOP + dock) / 2), `the message ends at ${y + height} px of ${dock} px`);
  });
  t.same(complaints, []);
});

t.test('with the built-in engine, a message also stays at the top', { skip: noDashboard }, async (t) => {
  const { page } = await startDashboard(t, '/chat');
  await page.setViewportSize({ width: 800, height: 480 });
  for (const message of ['How do I create an API key?', 'How do I stream a reply?']) {
    await page.getByLabel('Your message').fill(message);
    await page.getByLabel('Your message').press('Enter');
    const question = page.getByRole('log').getByText(message, { exact: true });
    await question.waitFor();
    await page.locator('[role=log][aria-busy=false]').waitFor();
    await page.evaluate(twoFrames);
    const y = await yOf(question);
    t.ok(isNear(y, TOP), `${message} at ${y} px`);
  }
});

t.test('the view does not move when a new conversation gets its URL', { skip: noDashboard }, async (t) => {
  const { page } = await startDashboard(t, '/chat');
  let release = () => {};
  const isLooked = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/\/api\/v1\/conversations\/[0-9a-f-]{36}/, async (route) => {
    await isLooked;
    await route.continue();
  });
  const path = /\/api\/v1\/conversations\/[0-9a-f-]{36}\?/;
  const asked = page.waitForRequest(path);
  const loaded = page.waitForResponse(path);
  await page.getByLabel('Your message').fill('How do I create an API key?');
  await page.getByLabel('Your message').press('Enter');
  await asked;
  await page.evaluate(twoFrames);
  const answer = page.getByRole('article').nth(1);
  t.equal(await page.locator('header + [role=status]').count(), 0, 'there is no placeholder above the reply');
  const before = await yOf(answer);
  release();
  await loaded;
  await page.getByRole('button', { name: 'Download conversation' }).waitFor();
  await page.evaluate(twoFrames);
  t.equal(await yOf(answer), before);
});
