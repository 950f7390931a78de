/** Playwright's selectors without Playwright's protocols, which WebKitGTK does not support. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

type ByRole = { name?: string | RegExp; exact?: boolean; level?: number; selected?: boolean };
type Exact = { exact?: boolean };

const require = createRequire(import.meta.url);
// The package does not export these files. Its version is pinned, and it is the last one that contains them.
const internals = join(dirname(require.resolve('playwright-core-bidi/package.json')), 'lib');
const engine: { source: string } = require(join(internals, 'generated/injectedScriptSource.js'));
const selectors: {
  getByRoleSelector(role: string, options?: ByRole): string;
  getByTextSelector(text: string | RegExp, options?: Exact): string;
  getByLabelSelector(text: string | RegExp, options?: Exact): string;
} = require(join(internals, 'utils/isomorphic/locatorUtils.js'));

const engineOptions = {
  isUnderTest: false,
  sdkLanguage: 'javascript',
  testIdAttributeName: 'data-testid',
  stableRafCount: 1,
  browserName: 'webkit',
  isUtilityWorld: false,
  customEngines: [],
};

/** A script that defines `parleyWalk` in a page. */
export const inPageScript = `
  const engine = (() => {
    const module = {};
    ${engine.source}
    return new (module.exports.InjectedScript())(globalThis, ${JSON.stringify(engineOptions)});
  })();
  ${readFileSync(new URL('in-page.js', import.meta.url), 'utf8')}`;

/** The functions of a page that a locator needs. */
export type LocatorPage = {
  /** Calls a function of `in-page.js`. */
  ask<T>(name: string, ...args: unknown[]): Promise<T>;
  evaluateWith<T>(selector: string, action: string): Promise<T>;
  click(selector: string): Promise<void>;
  type(selector: string, text: string): Promise<void>;
  press(selector: string, keys: string): Promise<void>;
  waitFor(selector: string, state: string): Promise<void>;
};

/** The part of Playwright's `Locator` that walks use, with the same behavior. */
export class Locator {
  readonly #page: LocatorPage;
  readonly #selector: string;

  constructor(page: LocatorPage, selector: string) {
    this.#page = page;
    this.#selector = selector;
  }

  #with(selector: string): Locator {
    return new Locator(this.#page, this.#selector === '' ? selector : `${this.#selector} >> ${selector}`);
  }
  locator = (selector: string) => this.#with(selector);
  getByRole = (role: string, options?: ByRole) => this.#with(selectors.getByRoleSelector(role, options));
  getByText = (text: string | RegExp, options?: Exact) =>
    this.#with(selectors.getByTextSelector(text, options));
  getByLabel = (text: string | RegExp, options?: Exact) =>
    this.#with(selectors.getByLabelSelector(text, options));
  first = () => this.#with('nth=0');
  last = () => this.#with('nth=-1');
  or = (other: Locator) => this.#with(`internal:or=${JSON.stringify(other.#selector)}`);

  count = () => this.#page.ask<number>('count', this.#selector);
  isVisible = () => this.#page.ask<boolean>('hasState', this.#selector, 'visible');
  async isChecked(): Promise<boolean> {
    await this.waitFor({ state: 'attached' });
    return this.#page.ask('hasState', this.#selector, 'checked');
  }
  async evaluate<T>(action: (element: never) => T): Promise<T> {
    await this.waitFor({ state: 'attached' });
    return this.#page.evaluateWith(this.#selector, String(action));
  }
  waitFor = ({ state = 'visible' } = {}) => this.#page.waitFor(this.#selector, state);

  click = () => this.#page.click(this.#selector);
  async check(): Promise<void> {
    if (!(await this.isChecked())) await this.click();
    await this.#page.waitFor(this.#selector, 'checked');
  }
  fill = (text: string) => this.#page.type(this.#selector, text);
  press = (keys: string) => this.#page.press(this.#selector, keys);
}
