// The pages of operations render before any script runs, also on a slow CPU and a phone, and pass axe.
import t from 'tap';
import { noBrowser, proxyTo, startBrowser } from '../support/browser.ts';
import { startWalk, variants } from '../support/dashboard-walk.ts';
import { startTestService } from '../support/service.ts';

const HOME = 'https://parley.test';
/** A page must be shown within two seconds on a CPU at a quarter of the speed. */
const SHOWN_MS = 2000;
const SLOWER = 4;

t.setTimeout(1_800_000);

t.test('the API reference', { skip: noBrowser }, async (t) => {
  const { port } = await startTestService(t, 'postgres', { PUBLIC_URL: HOME, TRUST_PROXY: 'loopback' });
  const { context } = await startBrowser(t, { 'parley.test': proxyTo(port) });
  const { complaints, fitsBetween, look, page } = await startWalk(
    t,
    context,
    `${HOME}/docs`,
    variants,
    (scheme) => `html:not([data-never=${scheme}])`,
  );

  await t.test('the list and the pages of operations are accessible in each variant', async (t) => {
    await page.getByRole('heading', { level: 1, name: 'API reference' }).waitFor();
    await look(t, 'operations');
    await page.getByRole('link', { name: 'Create a chat completion' }).click();
    await page.getByRole('heading', { level: 1, name: /^Create a chat completion/ }).waitFor();
    await look(t, 'operation-completion');
    await page.goto(`${HOME}/docs/api/createResponse`);
    await look(t, 'operation-response');
    t.ok(
      await page.evaluate(
        `[...document.querySelectorAll('.operation tr')].every(({ cells }) => cells[1].offsetWidth < cells[2].offsetWidth)`,
      ),
      'the column for the meaning is wider than the column for the type',
    );
    await page.getByRole('link', { name: 'Try it' }).last().waitFor();
  });

  await t.test('guides and search are accessible in each variant', async (t) => {
    await page.goto(`${HOME}/docs/guides/running-parley`);
    await look(t, 'guide');
    await page.goto(`${HOME}/docs/guides/getting-started`);
    await fitsBetween(t, 'guide');
    await page.goto(`${HOME}/docs/search?q=key`);
    await look(t, 'search');
  });

  await t.test(`pages are shown within ${SHOWN_MS} ms at a quarter of the CPU speed`, async (t) => {
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
    const times: number[] = [];
    for (const path of ['/docs', '/docs/api/createResponse', '/docs/api/chat']) {
      await page.goto(HOME + path);
      const shown = await page.evaluate(`new Promise((resolve) => new PerformanceObserver((list) =>
        resolve(Math.max(...list.getEntries().map(({ startTime }) => startTime))))
        .observe({ type: 'largest-contentful-paint', buffered: true }))`);
      times.push(Math.round(Number(shown)));
    }
    t.comment(`largest contentful paint: ${times.join(', ')} ms`);
    for (const time of times) t.ok(time < SHOWN_MS, `${time} ms`);
  });

  await t.test('the interactive reference links to the static pages', async (t) => {
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
    await page.goto(`${HOME}/docs/try`, { waitUntil: 'commit' });
    await page.getByRole('button', { name: 'Test Request' }).first().waitFor({ timeout: 300_000 });
    const shown = Math.round(await page.evaluate<number>('performance.now()'));
    t.comment(`/docs/try: the first operation after ${shown} ms`);
    await page.getByRole('link', { name: 'Reference' }).click();
    await page.getByRole('heading', { level: 1, name: 'API reference' }).waitFor({ timeout: 300_000 });
    t.pass('its header links to the static pages');
  });

  t.same(complaints, []);
});
