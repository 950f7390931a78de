/**
 * A walk through the dashboard in a real browser. Each state is checked in several variants (wide and narrow, light and
 * dark), or in one of them. axe checks its accessibility, and a measurement finds content that is wider than the
 * screen. With `SCREENSHOTS=1`, each state is also saved in `screenshots/` for review.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import type { Test } from 'tap';
import type { OtherBrowser } from './browser.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const folder = fileURLToPath(new URL('../../screenshots/', import.meta.url));

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };
const schemes = ['light', 'dark'] as const;
const between = [320, 600, 800, 1000, 1150, 1210];

/** The window size and color scheme in which a state is checked. */
export type Variant = { size: keyof typeof sizes; scheme: (typeof schemes)[number] };
export type BrowserName = 'chromium' | 'firefox' | 'webkit';

/** The argument of `startBrowser` for a walk in one variant; undefined for Chromium. */
export const otherBrowser = (name: BrowserName, { scheme }: Variant): OtherBrowser | undefined =>
  name === 'chromium' ? undefined : { name, scheme };

/** Whether to save screenshots. */
const takesPictures = process.env.SCREENSHOTS === '1';

const wideLight: Variant = { size: 'wide', scheme: 'light' };
const narrowDark: Variant = { size: 'narrow', scheme: 'dark' };

/** The variants to check: both sizes and both color schemes, or every combination for screenshots. */
export const variants: readonly [Variant, Variant, ...Variant[]] = takesPictures
  ? [wideLight, { size: 'wide', scheme: 'dark' }, { size: 'narrow', scheme: 'light' }, narrowDark]
  : [wideLight, narrowDark];
const levels = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

type Violation = { id: string; nodes: { target: string[]; failureSummary?: string }[] };
export type Walk = {
  page: Page;
  /** Errors and warnings in the console, except for those that `expectRefusals` allows. */
  complaints: string[];
  /** The hosts that the page has sent requests to. */
  hosts: Set<string>;
  /**
   * Checks the current state in every variant of the walk.
   *
   * @param name - the name of the state, for messages and screenshots
   * @param at - an element to scroll to
   * @param isAlone - whether axe checks only that element, because it has checked the rest before
   */
  look(t: Test, name: string, at?: Locator, isAlone?: boolean): Promise<void>;
  /** Checks the state in the first variant only, or in all for screenshots: axe takes a minute in the API reference. */
  lookOnce(t: Test, name: string): Promise<void>;
  /** Checks that the state fits at widths in between, where tables have the least room. */
  fitsBetween(t: Test, name: string): Promise<void>;
  /** Asserts that no label of a button, tab, badge, or chart is cut off, at both sizes. */
  labelsFit(t: Test, name: string): Promise<void>;
  /** Runs a check in the narrow window, then in the wide one. */
  atBothSizes(check: (size: Variant['size']) => Promise<unknown>): Promise<void>;
  /**
   * Allows console lines for failed requests. The browser prints one for each response of 400 and above, and for each
   * network error.
   *
   * @param count - the number of lines to allow from now on; unlimited by default, for pages that poll
   */
  expectRefusals(count?: number): void;
};

/** Resolves once the fonts are loaded and all CSS transitions have ended. */
const settled = `document.fonts.ready
  .then(() => new Promise(requestAnimationFrame))
  .then(() => Promise.allSettled(
    document.getAnimations().filter((one) => one instanceof CSSTransition).map(({ finished }) => finished),
  ))
  .then(() => new Promise(requestAnimationFrame))`;

/** Elements that scroll sideways, except for code and tables in replies and in the API reference. */
const scrolling = `[...document.querySelectorAll('main *, [role="dialog"] *')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && !one.closest('[role="log"], pre, .scalar-app'))
  .filter((one) => ['auto', 'scroll'].includes(getComputedStyle(one).overflowX))
  .map(({ className, tagName }) => tagName + ' ' + className)`;

/** Labels that are wider than their box, except for titles that users typed, and texts outside their chart. */
const cut = `[
  ...[...document.querySelectorAll('button, [role="tab"], [class*="Badge-root"], label, nav a, th')]
    .flatMap((one) => [one, ...one.querySelectorAll('span')])
    .filter((one) => one.textContent.trim() !== '' && one.clientWidth > 1 && one.scrollWidth > one.clientWidth + 1),
  ...[...document.querySelectorAll('svg text')].filter((one) => {
    const [text, drawing] = [one, one.ownerSVGElement].map((box) => box.getBoundingClientRect());
    return ['left', 'top'].some((side) => text[side] < drawing[side] - 1) ||
      ['right', 'bottom'].some((side) => text[side] > drawing[side] + 1);
  }),
].map((one) => one.tagName + ' ' + one.textContent)`;

/** The maximum height of a full-page screenshot. The API reference is forty times as high. */
const MAX_PICTURED_PX = 8000;

/** Reports violations of the content security policy in the console, in the same words in every browser. */
const reportViolations = `addEventListener('securitypolicyviolation', ({ blockedURI, effectiveDirective }) =>
  console.error('The policy forbids ' + effectiveDirective + ': ' + blockedURI))`;

/**
 * Opens a page and starts a walk from there.
 *
 * @param seen - the variants to check each state in; between checks, the page is in the first one
 * @param shows - the selector that matches once the page has switched to a color scheme
 */
export async function startWalk(
  t: Test,
  context: BrowserContext,
  url: string,
  seen: readonly [Variant, ...Variant[]] = variants,
  shows = (scheme: Variant['scheme']) => `html[data-mantine-color-scheme=${scheme}]`,
): Promise<Walk> {
  const page = await context.newPage();
  await page.addInitScript(reportViolations);
  // Save the last state, which shows where a failed walk stopped.
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
  const show = async ({ scheme, size }: Variant) => {
    await page.setViewportSize(sizes[size]);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
  };
  const fits = async (t: Test, state: string) => {
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${state}: fits`);
    t.same(await page.evaluate(scrolling), [], `${state}: no element scrolls sideways`);
  };
  const atBothSizes: Walk['atBothSizes'] = async (check) => {
    for (const size of ['narrow', 'wide'] as const) {
      await page.setViewportSize(sizes[size]);
      await page.evaluate(settled);
      await check(size);
    }
  };
  const lookIn = async (
    looked: readonly Variant[],
    t: Test,
    name: string,
    ...[at, isAlone]: [at?: Locator, isAlone?: boolean]
  ) => {
    for (const variant of looked) {
      const { scheme, size } = variant;
      if (seen.length > 1) await show(variant);
      await page.locator(shows(scheme)).waitFor();
      await page.evaluate(settled);
      await at?.evaluate((place) => place.scrollIntoView());
      const state = `${name}, ${size}, ${scheme}`;
      if (takesPictures) await picture(page, `${name}-${size}-${scheme}`);
      t.same(await violations(page, isAlone ? at : undefined), [], `${state}: axe`);
      await fits(t, state);
      t.equal(await page.locator('h1').count(), 1, `${state}: one h1`);
    }
    if (seen.length > 1) await show(seen[0]);
  };
  await show(seen[0]);
  await page.goto(url);

  return {
    atBothSizes,
    page,
    complaints,
    hosts,
    expectRefusals: (count = Number.POSITIVE_INFINITY) => {
      refusals = count;
    },
    async fitsBetween(t, name) {
      for (const width of between) {
        await page.setViewportSize({ width, height: 800 });
        await page.evaluate(settled);
        await fits(t, `${name}, ${width} px`);
      }
      await show(seen[0]);
    },
    labelsFit: (t, name) =>
      atBothSizes(async (size) => t.same(await page.evaluate(cut), [], `${name}, ${size}: every label fits`)),
    look: (...of) => lookIn(seen, ...of),
    lookOnce: (...of) => lookIn(takesPictures ? seen : [seen[0]], ...of),
  };
}

async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  // Capture a dialog within the window, and other pages in full.
  const isShort = await page.evaluate(`document.documentElement.scrollHeight < ${MAX_PICTURED_PX}`);
  const fullPage = isShort === true && (await page.getByRole('dialog').count()) === 0;
  await page.screenshot({ path: `${folder}${name}.png`, fullPage });
}

/** Reports only violations, because on long pages a report on passed checks takes longer than the checks. */
const axeOptions = { runOnly: { type: 'tag', values: levels }, resultTypes: ['violations'], preload: false };

/**
 * Runs axe on the open dialog, or on the whole page if there is none. The page behind a dialog was checked before,
 * which takes ten seconds in the API reference.
 *
 * @param alone - an element to check instead
 */
async function violations(page: Page, alone?: Locator): Promise<string[]> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axeSource);
  await alone?.evaluate((place) => place.setAttribute('data-alone', ''));
  const selector = alone ? '[data-alone]' : '[role=dialog]';
  const { violations: found } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document.querySelector('${selector}') ?? document, ${JSON.stringify(axeOptions)})`,
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, target }) => `${id}: ${target.join(' ')}: ${failureSummary ?? ''}`),
  );
}
