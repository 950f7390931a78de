/**
 * A walk through the dashboard in a real browser. Each state is looked at wide and narrow, light and dark, or in one of
 * these variants: by axe for what people with disabilities could not use, by measure for what is wider than the screen,
 * and, with `SCREENSHOTS=1`, by a picture of each in `screenshots/`, for people to look at.
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

/** On what the dashboard is looked at. */
export type Variant = { size: keyof typeof sizes; scheme: (typeof schemes)[number] };
export type BrowserName = 'chromium' | 'firefox' | 'webkit';

/** What `startBrowser` starts for a walk in one variant. */
export const otherBrowser = (name: BrowserName, { scheme }: Variant): OtherBrowser | undefined =>
  name === 'chromium' ? undefined : { name, scheme };

/** Whether pictures are taken: `SCREENSHOTS=1`. */
const takesPictures = process.env.SCREENSHOTS === '1';

const wideLight: Variant = { size: 'wide', scheme: 'light' };
const narrowDark: Variant = { size: 'narrow', scheme: 'dark' };

/** Both sizes and both color schemes; each with each for people to look at. */
export const variants: readonly [Variant, Variant, ...Variant[]] = takesPictures
  ? [wideLight, { size: 'wide', scheme: 'dark' }, { size: 'narrow', scheme: 'light' }, narrowDark]
  : [wideLight, narrowDark];
const levels = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

type Violation = { id: string; nodes: { target: string[]; failureSummary?: string }[] };
export type Walk = {
  page: Page;
  /** What its console complained about, but for answers that the walk has brought about: see `expectRefusals`. */
  complaints: string[];
  /** Hosts that the page has asked. */
  hosts: Set<string>;
  /**
   * Looks at the state that is shown, in every variant that the walk has.
   *
   * @param at - what the picture is of, where that is further down
   * @param isAlone - whether axe looks at that alone, where it has seen the rest
   */
  look(t: Test, name: string, at?: Locator, isAlone?: boolean): Promise<void>;
  /** Looks at the state in the first variant only, unless pictures are taken: in the API reference, each takes axe a minute. */
  lookOnce(t: Test, name: string): Promise<void>;
  /** Looks at widths in between, where tables are widest for the room that they have. */
  fitsBetween(t: Test, name: string): Promise<void>;
  /** Looks at the labels of buttons, tabs, badges, and drawings wide and narrow: none is cut. */
  labelsFit(t: Test, name: string): Promise<void>;
  /** Runs a check narrow, then wide. */
  atBothSizes(check: (size: Variant['size']) => Promise<unknown>): Promise<void>;
  /**
   * The browser's console has a line for every answer of 400 and above, and for every request that fails.
   *
   * @param count - how many of them are expected from here on; any number by default, as where a page polls
   */
  expectRefusals(count?: number): void;
};

/** Once the font is there, and every colour has changed to what it is to be. */
const settled = `document.fonts.ready
  .then(() => new Promise(requestAnimationFrame))
  .then(() => Promise.allSettled(
    document.getAnimations().filter((one) => one instanceof CSSTransition).map(({ finished }) => finished),
  ))
  .then(() => new Promise(requestAnimationFrame))`;

/** What hides a part of itself to its side, but for code and tables that somebody else wrote. */
const scrolling = `[...document.querySelectorAll('main *, [role="dialog"] *')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && !one.closest('[role="log"], pre, .scalar-app'))
  .filter((one) => ['auto', 'scroll'].includes(getComputedStyle(one).overflowX))
  .map(({ className, tagName }) => tagName + ' ' + className)`;

/** Labels that are wider than the room they have, but for titles that somebody typed, and texts that leave their drawing. */
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

/** The API reference is as long as forty of these. */
const MOST_PICTURED_PX = 8000;

/** Says what the policy of the page kept from happening, whatever the browser itself says. */
const reportViolations = `addEventListener('securitypolicyviolation', ({ blockedURI, effectiveDirective }) =>
  console.error('The policy forbids ' + effectiveDirective + ': ' + blockedURI))`;

/**
 * Opens a page and walks from there.
 *
 * @param seen - in which variants each state is looked at; the page is in the first of them otherwise
 * @param shows - what is there once the page has followed a colour scheme
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
  const show = async ({ scheme, size }: Variant) => {
    await page.setViewportSize(sizes[size]);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
  };
  const fits = async (t: Test, state: string) => {
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${state}: fits`);
    t.same(await page.evaluate(scrolling), [], `${state}: nothing within scrolls sideways`);
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
  // A dialog is looked at in its window, a page to its end.
  const isShort = await page.evaluate(`document.documentElement.scrollHeight < ${MOST_PICTURED_PX}`);
  const fullPage = isShort === true && (await page.getByRole('dialog').count()) === 0;
  await page.screenshot({ path: `${folder}${name}.png`, fullPage });
}

/** Of what is in order nothing is told: on long pages that takes longer than looking. */
const axeOptions = { runOnly: { type: 'tag', values: levels }, resultTypes: ['violations'], preload: false };

/**
 * In the dialog where one is open: what lies behind was looked at before, and takes ten seconds in the API reference.
 *
 * @param alone - what is looked at instead
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
