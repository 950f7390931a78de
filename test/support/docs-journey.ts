/** A walk through the documentation, with a page of each kind, in one variant and browser. */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { proxyTo, startBrowser } from './browser.ts';
import { HOME, HOST } from './dashboard-pages.ts';
import { type BrowserName, otherBrowser, startWalk, type Variant } from './dashboard-walk.ts';
import { startTestService } from './service.ts';
import { eventually } from './upstream/engine.ts';

type State = {
  name: string;
  path: string;
  heading: string | RegExp;
  /** The reader's actions before the state is checked. */
  act?: (page: Page) => Promise<void>;
  isMissing?: true;
};

/** Whether every button in the dialog shows its text or has a label. */
const areNamed = `[...document.querySelectorAll('[role=dialog] button')]
  .every((one) => one.innerText.trim() || one.ariaLabel)`;

const states: State[] = [
  { name: 'docs-01-guides', path: '/docs/guides', heading: 'Guides' },
  { name: 'docs-02-guide', path: '/docs/guides/authentication', heading: 'Authentication' },
  { name: 'docs-03-reference', path: '/docs', heading: 'API reference' },
  { name: 'docs-04-operation', path: '/docs/api/createChatCompletion', heading: /^Create a chat completion/ },
  { name: 'docs-05-errors', path: '/docs/errors', heading: 'Errors' },
  { name: 'docs-06-error', path: '/docs/errors/quotaExceeded', heading: 'quotaExceeded' },
  { name: 'docs-07-search', path: '/docs/search?q=key', heading: 'Search' },
  {
    name: 'docs-08-missing',
    path: '/docs/guides/none',
    heading: 'This guide does not exist',
    isMissing: true,
  },
  { name: 'docs-09-try', path: '/docs/try', heading: 'Parley API' },
  {
    name: 'docs-11-signed-in',
    path: '/docs/guides/authentication',
    heading: 'Authentication',
    async act(page) {
      await page.evaluate(`localStorage.setItem('parley.session', 'in')`);
      await page.goto(`${HOME}/docs/guides/authentication`);
      await page.getByRole('link', { name: 'Your API', exact: true }).waitFor();
      await page.evaluate(`localStorage.removeItem('parley.session')`);
    },
  },
  {
    name: 'docs-10-request',
    path: '/docs/try',
    heading: 'Parley API',
    async act(page) {
      await page.evaluate(`location.hash = 'tag/search/search'`);
      const operation = page.locator('section[id$="tag/search/search"]').first();
      await operation.getByRole('button', { name: 'Test Request' }).click();
      await page.getByRole('dialog').getByRole('button', { name: /^Send/ }).first().waitFor();
      // WebKit renders the parts of the dialog one after another.
      await eventually('every button of the dialog has a name', () => page.evaluate<boolean>(areNamed));
    },
  },
];

/** Walks through the documentation, and checks each state. */
export async function walkThroughDocs(
  t: Test,
  variant: Variant,
  browser: BrowserName = 'chromium',
): Promise<void> {
  const { port } = await startTestService(t, 'postgres', { PUBLIC_URL: HOME, TRUST_PROXY: 'loopback' });
  const { context } = await startBrowser(t, { [HOST]: proxyTo(port) }, otherBrowser(browser, variant));
  const { complaints, expectRefusals, hosts, look, page } = await startWalk(
    t,
    context,
    `${HOME}/docs`,
    [variant],
    // The pages switch the color scheme with CSS only.
    () => 'html[data-theme=auto]',
  );
  page.setDefaultTimeout(120_000);
  t.equal(
    await page.evaluate(`matchMedia('(prefers-color-scheme: dark)').matches`),
    variant.scheme === 'dark',
    'the browser uses the color scheme',
  );

  for (const { act, heading, isMissing, name, path } of states)
    await t.test(name, async (t) => {
      if (isMissing) expectRefusals(1);
      await page.goto(HOME + path);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await act?.(page);
      await look(t, name);
      t.same(complaints.splice(0), [], 'the console shows no errors and no policy violations');
    });

  t.same([...hosts], [HOST], 'the pages send no requests to other hosts');
}
