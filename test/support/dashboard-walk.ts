/**
 * A walk through the dashboard in a real browser. Each state is looked at wide and narrow, light and dark: by axe for what
 * people with disabilities could not use, by measure for what is wider than the screen, and, with `SCREENSHOTS=1`, by a
 * picture of each in `screenshots/`, for people to look at.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import type { Test } from 'tap';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const folder = fileURLToPath(new URL('../../screenshots/', import.meta.url));

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };
const schemes = ['light', 'dark'] as const;
const levels = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

type Violation = { id: string; nodes: { target: string[]; failureSummary?: string }[] };
export type Walk = {
  page: Page;
  /** What its console complained about, but for answers that the walk has brought about: see `expectRefusals`. */
  complaints: string[];
  /** Hosts that the page has asked. */
  hosts: Set<string>;
  /** Looks at the state that is shown, in every size and scheme. */
  look(t: Test, name: string): Promise<void>;
  /** The browser notes every answer of 400 and above; that many are meant from here on. */
  expectRefusals(count: number): void;
};

/** Once the font is there, and every colour has changed to what it is to be. */
const settled = `document.fonts.ready
  .then(() => new Promise(requestAnimationFrame))
  .then(() => Promise.allSettled(
    document.getAnimations().filter((one) => one instanceof CSSTransition).map(({ finished }) => finished),
  ))
  .then(() => new Promise(requestAnimationFrame))`;

/** Whether pictures are taken: `SCREENSHOTS=1`. */
const takesPictures = process.env.SCREENSHOTS === '1';

export async function startWalk(t: Test, context: BrowserContext, url: string): Promise<Walk> {
  const page = await context.newPage();
  // Where it ended, which is where it stuck.
  if (takesPictures) t.teardown(() => picture(page, 'the-end'));
  const complaints: string[] = [];
  const hosts = new Set<string>();
  let refusals = 0;
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    const text = message.text();
    if (/^Failed to load resource: (the server responded with a status|net::ERR_\w+)/.test(text)) {
      refusals -= 1;
      if (refusals >= 0) return;
    }
    complaints.push(text);
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    const { host, protocol } = new URL(request.url());
    if (protocol.startsWith('http')) hosts.add(host);
  });
  await page.setViewportSize(sizes.wide);
  await page.goto(url);

  return {
    page,
    complaints,
    hosts,
    expectRefusals: (count) => {
      refusals = count;
    },
    async look(t, name) {
      for (const [size, viewport] of Object.entries(sizes)) {
        await page.setViewportSize(viewport);
        for (const scheme of schemes) {
          await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
          await page.locator(`html[data-mantine-color-scheme=${scheme}]`).waitFor();
          await page.evaluate(settled);
          const state = `${name}, ${size}, ${scheme}`;
          if (takesPictures) await picture(page, `${name}-${size}-${scheme}`);
          t.same(await violations(page), [], `${state}: axe`);
          t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${state}: fits`);
          t.equal(await page.locator('h1').count(), 1, `${state}: one h1`);
        }
      }
      await page.setViewportSize(sizes.wide);
      await page.emulateMedia({ colorScheme: 'light' });
    },
  };
}

async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}${name}.png` });
}

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axeSource);
  const { violations: found } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document, { runOnly: { type: 'tag', values: ${JSON.stringify(levels)} } })`,
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, target }) => `${id}: ${target.join(' ')}: ${failureSummary ?? ''}`),
  );
}
