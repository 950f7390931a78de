// The usage page with a day of 5,000 requests and large numbers.
import { eq, sql } from 'drizzle-orm';
import type { Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import type { Db } from '../../src/database/client.ts';
import { apiKeys, keyUsage, requests, usageCounters } from '../../src/database/tables.ts';
import { newId } from '../../src/domain/ids.ts';
import { savedFile } from '../support/browser.ts';
import { shiftClock } from '../support/clock.ts';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { fillRequests } from '../support/dashboard-volume.ts';

t.setTimeout(1_800_000);

const REQUESTS = 5000;
const TOKENS = 12_345_678;

/** Records layout shifts that the browser reports without user input. */
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
const MAX_SHIFT = 0.02;

/** Checks that pages load without layout shifts, wide and narrow. A page is loaded once its locator appears. */
async function loadStill(t: Test, page: Page, pages: readonly (readonly [string, Locator])[]): Promise<void> {
  await page.addInitScript(watchShifts);
  for (const size of [
    { width: 1280, height: 800 },
    { width: 390, height: 844 },
  ]) {
    await page.setViewportSize(size);
    for (const [path, last] of pages) {
      await page.goto(HOME + path);
      await last.waitFor();
      await page.waitForLoadState('networkidle');
      const shifted = await page.evaluate<number>('shifted');
      const movers = await page.evaluate<string>('movers.join()');
      t.ok(shifted < MAX_SHIFT, `${path}, ${size.width} px: ${shifted} ${movers}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** Chart labels that start outside the chart, or overlap each other or the limit line. */
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

/** Badges with truncated text. */
const cutBadges = `[...document.querySelectorAll('.mantine-Badge-root')]
  .flatMap((one) => [one, ...one.children])
  .filter((one) => getComputedStyle(one).overflow !== 'visible' && one.scrollWidth > one.clientWidth)
  .map((one) => one.textContent)`;

/** Texts in the rows of a log that wrap within a word. */
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

/** Also creates the partition of the day. The service creates only those of today and later days. */
async function addRequest(db: Db, accountId: string, keyId: string, at: Date): Promise<void> {
  const day = at.toISOString().slice(0, 10);
  const partition = sql.identifier(`requests_${day.replaceAll('-', '')}`);
  await db.execute(sql`create table if not exists ${partition} partition of requests
    for values from (${sql.raw(`'${day}'`)}) to (${sql.raw(`date '${day}' + 1`)})`);
  await db.insert(requests).values({
    ...{ accountId, day, id: newId(), keyId, endpoint: 'POST /api/v1/chat', meter: 'chat', units: 1 },
    ...{ state: 'final', process: newId(), admittedAt: at, settledAt: at, status: 200, latencyMs: 900 },
  });
}

/** Whether the log is in the upper half of the screen, or as far up as the end of the page allows. */
const isInView = `(() => {
  const heading = document.getElementById('log');
  const { bottom, top } = heading.getBoundingClientRect();
  const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
  return top >= 0 && bottom <= innerHeight / (isAtEnd ? 1 : 2) && document.activeElement === heading;
})()`;

t.test('the usage page filters, charts, and exports requests', { skip: noDashboard }, async (t) => {
  const dashboard = await startDashboard(t, '/plan');
  const { accountId, button, complaints, cookie, client, database, dialog, look, page, text } = dashboard;
  const created = await client.post('/keys', { name: 'Website', scopes: ['chat'] }, { cookie });
  const { id: keyId, key } = created.body as { id: string; key: string };
  await fillRequests(database.db, accountId, keyId, REQUESTS / 2);
  await fillRequests(database.db, accountId, null, REQUESTS / 2);
  const today = new Date().toISOString().slice(0, 10);
  await database.db.insert(keyUsage).values([
    { accountId, day: today, keyId, meter: 'tokens', used: TOKENS },
    { accountId, day: today, keyId, meter: 'chat', used: 1, requests: 1 },
  ]);
  await database.db.update(apiKeys).set({ lastUsedAt: new Date() }).where(eq(apiKeys.id, keyId));
  const source = page.getByLabel('Source');
  await database.db.insert(usageCounters).values([
    { accountId, day: today, meter: 'tokens', used: TOKENS },
    { accountId, day: today, meter: 'chat', used: 1 },
  ]);
  const meter = page.getByRole('radiogroup', { name: 'Usage type' });
  const chartKey = page.getByRole('combobox', { name: 'Key', exact: true });
  let oldId = '';

  await t.test('pages load without layout shifts', async (t) => {
    await loadStill(t, page, [
      ['/your-api', page.getByRole('slider', { name: /^Requests per day with Website/ })],
      ['/usage', button(/^Details for/).first()],
    ]);
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
      t.same(await page.evaluate(cutBadges), [], `${width} px: no badge is truncated`);
      t.same(await page.evaluate(brokenWords), [], `${width} px: no word is broken`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await look(t, 'usage-5000-requests');
  });

  await t.test('model, tokens, and times have columns, and the filters fit in one row', async (t) => {
    const log = page.getByRole('table', { name: 'Requests' });
    const columns = (await log.getByRole('columnheader').allTextContents()).map((text) => text.trim());
    const cells = await log.getByRole('row').nth(2).getByRole('cell').allTextContents();
    const row = Object.fromEntries(columns.map((column, at) => [column, cells[at]]));
    t.match(row, {
      Model: 'test-model',
      Tokens: '1,234',
      Charged: '1 reply',
      'First output': '310 ms',
      Duration: '1.2 sec',
    });
    const tops = [];
    for (const label of ['Source', 'Endpoint', 'Model', 'Status', 'From (UTC day)', 'To (UTC day)'])
      tops.push((await page.getByLabel(label, { exact: true }).boundingBox())?.y);
    tops.push((await button('More filters').boundingBox())?.y);
    t.equal(new Set(tops).size, 1, tops.join());
    t.equal(await page.getByLabel('Request ID', { exact: true }).count(), 0);
    await button('More filters').click();
    await page.getByLabel('Request ID', { exact: true }).waitFor();
    await button('Fewer filters').click();
    t.equal(await page.getByLabel('Request ID', { exact: true }).count(), 0);
    await button('More filters').click();
    await look(t, 'usage-log-filters', page.getByRole('heading', { name: 'Requests', exact: true }));
  });

  await t.test('filters offer values from the log, and exports contain only matching requests', async (t) => {
    const optionsOf = (label: string) => page.getByLabel(label, { exact: true }).locator('option');
    t.notMatch((await optionsOf('Endpoint').allTextContents()).join(), 'Carried over');
    await client.post('/chat', { message: 'Hello', store: false }, { key });
    await page.reload();
    const model = page.getByLabel('Model', { exact: true });
    await model.selectOption('test-model');
    await page.waitForURL('**/usage?model=test-model');
    t.same(await optionsOf('Model').allTextContents(), ['Any model', 'parley-builtin', 'test-model']);
    await model.selectOption('parley-builtin');
    await page.getByRole('cell', { name: 'test-model' }).first().waitFor({ state: 'detached' });
    t.equal(await button(/^Details for/).count(), 1);
    await page.getByRole('cell', { name: 'parley-builtin' }).waitFor();
    const saved = await savedFile(page, () => button('Export JSON').click());
    t.match(saved.name, /^parley-requests.*\.json/);
    const exported = saved.text.trim();
    t.match(exported, /"model":\s*"parley-builtin"/);
    t.notMatch(exported, 'test-model');
  });

  await t.test('charts cover the last 7, 30, or 90 days, and every key that was used in them', async (t) => {
    oldId = (await client.createKey({ cookie }, { name: 'Old script' })).id;
    await database.db.execute(sql`
      update api_keys set created_at = now() - interval '85 days', revoked_at = now() - interval '79 days'
      where id = ${oldId}::uuid`);
    for (const [age, used] of [
      [40, 40],
      [80, 80],
    ] as const) {
      const at = new Date(Date.now() - age * 86_400_000);
      const day = at.toISOString().slice(0, 10);
      const owner = age === 80 ? oldId : keyId;
      await database.db.insert(keyUsage).values({ accountId, day, keyId: owner, meter: 'chat', used });
      await database.db.insert(usageCounters).values({ accountId, day, meter: 'chat', used });
      await addRequest(database.db, accountId, owner, at);
    }
    await page.goto(`${HOME}/usage?key_id=web`);
    await page.getByRole('img', { name: /over the last 30 days/ }).waitFor();
    await chartKey.selectOption('');
    await page.getByRole('img', { name: /: 2 chat replies over the last 30 days/ }).waitFor();
    const period = page.getByRole('radiogroup', { name: 'Period' });
    for (const [label, total] of [
      ['90 days', 122],
      ['7 days', 2],
    ] as const) {
      await period.getByText(label, { exact: true }).click();
      const days = label.split(' ')[0];
      await page.waitForURL(`**/usage?key_id=web&days=${days}`);
      const chart = page.getByRole('img', { name: `: ${total} chat replies over the last ${label}` });
      await chart.waitFor();
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 844 });
        await chart.waitFor();
        t.same(await page.evaluate(badTexts), [], `${label}, ${width} px`);
      }
      await look(t, `usage-${days}-days`);
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    await page.reload();
    await page.getByRole('img', { name: /over the last 7 days/ }).waitFor();
    await period.getByText('90 days', { exact: true }).click();
    const old = source.locator(`option[value="${oldId}"]`);
    t.match(await old.textContent(), /^Old script \(.*, no longer active\)$/);
    await source.selectOption(oldId);
    await page.waitForURL(`**/usage?key_id=${oldId}&days=90`);
    await page.getByRole('row', { name: /Old script/ }).waitFor();
    t.equal(await button(/^Details for/).count(), 1);
    await page.getByRole('img', { name: /: 80 chat replies over the last 90 days/ }).waitFor();
    await button(/^Details for/).click();
    t.match(await dialog.locator('dl').textContent(), /TokensUnknownDuration/);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await period.getByText('30 days', { exact: true }).click();
    await page.waitForURL(`**/usage?key_id=${oldId}`);
  });

  await t.test('a tap on a chart of 90 days selects a day', async (t) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${HOME}/usage?days=90`);
    const chart = page.getByRole('img', { name: /over the last 90 days/ });
    const bar = await chart.locator('rect').first().boundingBox();
    await chart.dispatchEvent('pointerdown', {
      clientX: (bar?.x ?? 0) + (bar?.width ?? 0) / 2,
      clientY: (bar?.y ?? 0) - 20,
      pointerType: 'touch',
    });
    await text(/ \(UTC\): 80 chat replies$/).waitFor();
    t.pass('the bar of 80 days ago is selected');
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('links to the requests of a key work repeatedly', async (t) => {
    const ofKeys = page.getByRole('link', { name: 'Requests made with Website' });
    const share = (name: string) =>
      page
        .getByRole('listitem')
        .filter({ hasText: name })
        .getByRole('link', { name: 'Requests', exact: true });
    const follow = async (link: Locator, id: string, days = '') => {
      await link.click();
      await page.waitForURL(`**/usage?key_id=${id}${days}#log`);
      await page.locator('#log:focus').waitFor();
      t.ok(await page.evaluate(isInView), 'the log is in view');
      t.equal(await source.inputValue(), id);
      t.equal(await chartKey.inputValue(), id, 'the chart shows the same key');
      await page
        .getByRole('row', { name: id === keyId ? /Website/ : /Old script/ })
        .first()
        .waitFor();
    };
    await page.goto(`${HOME}/your-api`);
    await follow(ofKeys, keyId);
    await page.goBack();
    await follow(ofKeys, keyId);
    await chartKey.selectOption('');
    await follow(share('Website'), keyId);
    await page.getByRole('radiogroup', { name: 'Period' }).getByText('90 days', { exact: true }).click();
    await page.waitForURL(`**/usage?key_id=${keyId}&days=90`);
    await follow(share('Old script'), oldId, '&days=90');
    await page.goBack();
    await page.waitForURL(`**/usage?key_id=${keyId}&days=90`);
    await follow(share('Old script'), oldId, '&days=90');
    await source.selectOption(keyId);
    await page.waitForURL(`**/usage?key_id=${keyId}&days=90`);
    await chartKey.selectOption('');
    await follow(share('Website'), keyId, '&days=90');
    await chartKey.selectOption('');
    await page.getByLabel('Status').selectOption('2xx');
    await page.waitForURL(`**/usage?key_id=${keyId}&status=2xx&days=90`);
    t.equal(await chartKey.inputValue(), '', 'a filter of the log does not change the chart');
  });

  await t.test('after midnight UTC, the charts end with the new day', async (t) => {
    await page.clock.install();
    await page.goto(`${HOME}/usage`);
    await button(/^Details for/)
      .first()
      .waitFor();
    const dayIn = (days: number) =>
      new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(
        Date.now() + days * 86_400_000,
      );
    await text(`${dayIn(0)}, today (UTC): 2 chat replies`).waitFor();
    await shiftClock(database.db, '1 day');
    await page.clock.fastForward(24 * 3600 * 1000);
    await text(`${dayIn(1)}, today (UTC): 0 chat replies`).waitFor();
    await button('Previous day').click();
    await text(`${dayIn(0)} (UTC): 2 chat replies`).waitFor();
    t.pass('yesterday has the earlier replies');

    await page.goto(`${HOME}/your-api`);
    const requestsOn = (day: string) =>
      page.locator(`input[aria-label*="with Website"][aria-valuetext^="${day}:"]`);
    await requestsOn('Today').press('ArrowLeft');
    await requestsOn(dayIn(0)).waitFor();
    await shiftClock(database.db, '2 days');
    await page.clock.fastForward(24 * 3600 * 1000);
    await requestsOn(dayIn(1)).waitFor();
    t.pass('the chart on the page with the keys has the new day too');
  });
  t.same(complaints, []);
});

t.test('usage with the default plans causes no layout shifts', { skip: noDashboard }, async (t) => {
  const { button, client, complaints, cookie, page, text } = await startDashboard(t, '/plan', {
    PLANS_FILE: '',
  });
  await t.test('the pages of an empty account load without layout shifts', (t) =>
    loadStill(t, page, [
      ['/your-api', page.getByRole('heading', { name: 'Create your first key' })],
      ['/usage', text('No requests yet')],
    ]),
  );

  await t.test('the pages of an account with usage load without layout shifts', async (t) => {
    for (const name of ['One', 'Two', 'Three', 'Four', 'Five']) {
      const { key } = await client.createKey({ cookie }, { name });
      await client.post('/chat', { message: 'Hello' }, { key });
    }
    await loadStill(t, page, [
      ['/your-api', page.getByRole('slider', { name: /^Requests per day with Five/ })],
      ['/usage', button(/^Details for/).nth(4)],
    ]);
  });
  t.same(complaints, []);
});
