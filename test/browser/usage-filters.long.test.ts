// The filters of the request log at 1,024 px, where the navigation leaves them the least space, and at smaller widths.
import t from 'tap';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';

t.setTimeout(600_000);

/** Labels and selected values that are wider than their space. The arrow of a list needs 28 px. */
const cut = `[...document.querySelectorAll('[class*=_logFilters_] :is(label, button, select)')]
  .map((one) => {
    const { font, paddingLeft } = getComputedStyle(one);
    const context = document.createElement('canvas').getContext('2d');
    context.font = font;
    const text = one.selectedOptions?.[0]?.textContent ?? one.textContent;
    const room = one.clientWidth - (one.matches('select') ? Number.parseFloat(paddingLeft) + 28 : 0);
    return { text, room, width: context.measureText(text).width };
  })
  .filter(({ room, width }) => width > room + 1)`;

t.test('the filters of requests fit in two rows from 1,024 px', { skip: noDashboard }, async (t) => {
  const { complaints, look, page } = await startDashboard(t, '/usage');
  await page.setViewportSize({ width: 1024, height: 800 });
  for (const [language, labels, opener] of [
    ['en', ['Source', 'Endpoint', 'Model', 'Status', 'From (UTC day)', 'To (UTC day)'], 'Filters'],
    ['de', ['Quelle', 'Endpunkt', 'Modell', 'Status', 'Von (UTC-Tag)', 'Bis (UTC-Tag)'], 'Filter'],
  ] as const) {
    await page.evaluate(`localStorage.setItem('parley.language', '${language}')`);
    await page.goto(`${HOME}/usage`);
    const filters = labels.map((label) => page.getByLabel(label, { exact: true }).last());
    const tops = await Promise.all(filters.map(async (one) => (await one.boundingBox())?.y));
    t.equal(new Set(tops).size, 2, `${language}: two rows (${tops})`);
    t.same(await page.evaluate(cut), [], `${language}: no text is cut off`);
    await page.setViewportSize({ width: 1000, height: 800 });
    await page.getByRole('button', { name: opener, exact: true }).waitFor();
    t.equal(
      await page.getByLabel('Status', { exact: true }).count(),
      0,
      `${language}: the filters are in a dialog below 1,024 px`,
    );
    await page.setViewportSize({ width: 1024, height: 800 });
    await filters[0]?.waitFor();
    if (process.env.SCREENSHOTS === '1')
      await page.screenshot({ path: `screenshots/usage-filters-${language}.png`, fullPage: true });
  }
  await look(t, 'usage-filters');
  t.same(complaints, []);
});
