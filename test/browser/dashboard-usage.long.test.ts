// The usage page with a day of 5,000 requests and large numbers.
import { eq } from 'drizzle-orm';
import t from 'tap';
import { apiKeys, keyUsage, usageCounters } from '../../src/database/tables.ts';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { fillRequests } from '../support/dashboard-volume.ts';

t.setTimeout(1_800_000);

const REQUESTS = 5000;
const TOKENS = 12_345_678;

/** What moved without the reader having done anything, as the browser counts it. */
const watchShifts = `(() => {
  window.shifted = 0;
  window.movers = [];
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, sources, value } of list.getEntries()) {
      if (hadRecentInput) continue;
      window.shifted += value;
      window.movers.push(...sources.map(({ currentRect, node, previousRect }) =>
        [node?.outerHTML?.slice(0, 80), previousRect.top, currentRect.top].join(' ')));
    }
  }).observe({ type: 'layout-shift', buffered: true });
})()`;
const MOST_SHIFTED = 0.02;

/** Texts of the chart that begin outside of it, or cover each other or the line of the limit. */
const badTexts = `(() => {
  const svg = document.querySelector('svg[role=img]');
  const { left } = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map((one) => [one.textContent, one.getBoundingClientRect()]);
  const covers = (one, other) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom - 2 && other.top < one.bottom - 2;
  const line = [...svg.querySelectorAll('line')]
    .find((one) => getComputedStyle(one).strokeDasharray !== 'none')?.getBoundingClientRect();
  const isStruck = (box) =>
    line && box.right > line.left && box.top < line.bottom && line.top < box.bottom;
  return texts
    .filter(([, box], at) => box.left < left || isStruck(box) || texts.some(([, other], index) => index !== at && covers(box, other)))
    .map(([text]) => text);
})()`;

/** Badges that show less than they say. */
const cutBadges = `[...document.querySelectorAll('.mantine-Badge-root')]
  .flatMap((one) => [one, ...one.children])
  .filter((one) => getComputedStyle(one).overflow !== 'visible' && one.scrollWidth > one.clientWidth)
  .map((one) => one.textContent)`;

/** Lines of a log's row that begin within a word. */
const brokenWords = `[...document.querySelectorAll('table[aria-labelledby=log] td, ul li p')].flatMap((cell) => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    let last;
    for (let at = 0; at < node.length; at += 1) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { top } = range.getBoundingClientRect();
      if (last !== undefined && top > last + 4 && /\\w\\w/.test(node.data.slice(at - 1, at + 1))) broken.push(node.data);
      last = top;
    }
  }
  return broken;
})`;

const isInView = `(() => {
  const heading = document.getElementById('log');
  const { bottom, top } = heading.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight / 2 && document.activeElement === heading;
})()`;

t.test('usage', { skip: noDashboard }, async (t) => {
  const { accountId, button, complaints, cookie, client, database, look, page, text } = await startDashboard(
    t,
    '/plan',
  );
  const created = await client.post('/keys', { name: 'Website', scopes: ['chat'] }, { cookie });
  const { id: keyId } = created.body as { id: string };
  await fillRequests(database.db, accountId, keyId, REQUESTS / 2);
  await fillRequests(database.db, accountId, null, REQUESTS / 2);
  const today = new Date().toISOString().slice(0, 10);
  await database.db.insert(keyUsage).values([
    { accountId, day: today, keyId, meter: 'tokens', used: TOKENS },
    { accountId, day: today, keyId, meter: 'chat', used: 1 },
  ]);
  await database.db.update(apiKeys).set({ lastUsedAt: new Date() }).where(eq(apiKeys.id, keyId));
  const source = page.getByLabel('Source');
  await database.db.insert(usageCounters).values([
    { accountId, day: today, meter: 'tokens', used: TOKENS },
    { accountId, day: today, meter: 'chat', used: 1 },
  ]);
  const meter = page.getByRole('radiogroup', { name: 'Usage type' });
  const chartKey = page.getByRole('combobox', { name: 'Key', exact: true });

  await t.test('loads without moving what is there', async (t) => {
    await page.addInitScript(watchShifts);
    for (const size of [
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ]) {
      await page.setViewportSize(size);
      for (const [path, last] of [
        ['/your-api', page.getByRole('img', { name: /^Usage of Website/ })],
        ['/usage', button(/^Details for/).first()],
      ] as const) {
        await page.goto(HOME + path);
        await last.waitFor();
        const shifted = await page.evaluate<number>('shifted');
        t.ok(
          shifted < MOST_SHIFTED,
          `${path}, ${size.width} px: ${shifted} ${await page.evaluate<string>('movers.join()')}`,
        );
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('large numbers, long codes, and a limit above the chart fit', async (t) => {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await meter.getByText('Tokens', { exact: true }).click();
      await page.getByText('10M', { exact: true }).waitFor();
      t.same(await page.evaluate(badTexts), [], `${width} px: tokens`);
      await meter.getByText('Chat', { exact: true }).click();
      await text('(above the chart)').waitFor();
      t.same(await page.evaluate(badTexts), [], `${width} px: chat`);
      await text('502 upstreamError').first().waitFor();
      t.same(await page.evaluate(cutBadges), [], `${width} px: no badge is cut`);
      t.same(await page.evaluate(brokenWords), [], `${width} px: no word is broken`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await look(t, 'usage-5000-requests');
  });

  await t.test('rows tell the model and its tokens, and the filters take two rows', async (t) => {
    const rows = page.getByRole('row', { name: /test-model · 1,234 tokens/ });
    await rows.first().waitFor();
    t.ok((await rows.count()) > 10, `${await rows.count()} rows`);
    const [first, last] = [
      await source.boundingBox(),
      await page.getByLabel('Request ID', { exact: true }).boundingBox(),
    ];
    t.ok(first && last && last.y - first.y < 100, `${first?.y} to ${last?.y} px`);
  });

  await t.test('the filters offer what the log has', async (t) => {
    const optionsOf = (label: string) => page.getByLabel(label, { exact: true }).locator('option');
    t.notMatch((await optionsOf('Endpoint').allTextContents()).join(), 'Carried over');
    await page.getByLabel('Model', { exact: true }).selectOption('test-model');
    await page.waitForURL('**/usage?model=test-model');
    t.same(await optionsOf('Model').allTextContents(), ['Any model', 'parley-builtin', 'test-model']);
  });

  await t.test('a key’s requests', async (t) => {
    for (const path of ['/your-api', '/usage']) {
      await page.goto(HOME + path);
      const link = page
        .getByRole('main')
        .getByRole('link', { name: /Requests/ })
        .first();
      await link.click();
      await page.waitForURL(`**/usage?key_id=${keyId}#log`);
      await button(/^Details for/)
        .first()
        .waitFor();
      await page.locator('#log:focus').waitFor();
      t.ok(await page.evaluate(isInView), `from ${path}: the log is in view`);
      t.equal(await source.inputValue(), keyId);
      t.equal(await chartKey.inputValue(), keyId, 'the chart shows the same key');
    }
  });

  await t.test('the next day', async () => {
    await page.clock.install();
    await page.goto(`${HOME}/usage`);
    await button(/^Details for/)
      .first()
      .waitFor();
    const asked = page.waitForRequest('**/api/v1/usage/history?*');
    await page.clock.fastForward(24 * 3600 * 1000);
    await asked;
  });
  t.same(complaints, []);
});
