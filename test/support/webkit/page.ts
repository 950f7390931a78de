/** A page in WebKitGTK, controlled through WebDriver, with the part of Playwright's `Page` that walks use. */
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inPageScript, Locator, type LocatorPage } from './locators.ts';
import { type Element, isElement, pathOf, type Session, WebDriverError } from './session.ts';

const POLL_MS = 50;

/** https://www.w3.org/TR/webdriver2/#keyboard-actions */
const keyCodes: Record<string, string> = { Control: '\uE009', Enter: '\uE007', Escape: '\uE00C' };

/** Errors that can occur while a page changes, after which a command is retried. */
const passing = new Set([
  'element click intercepted',
  'element not interactable',
  'javascript error',
  'no such element',
  'stale element reference',
]);

type Said = { type(): string; text(): string };
type Asked = { url(): string };
type Listener = (event: never) => void;
type Size = { width: number; height: number };

/** The part of Playwright's `Page` that walks use, with the same behavior. */
export class WebKitPage {
  readonly #session: Session;
  readonly #window: string;
  readonly #statusOf: (url: string) => number | undefined;
  readonly #listeners = new Map<string, Listener[]>();
  #timeoutMs = 30_000;

  /** @param statusOf - the status of the response to the latest request for a URL */
  constructor(session: Session, window: string, statusOf: (url: string) => number | undefined) {
    this.#session = session;
    this.#window = window;
    this.#statusOf = statusOf;
  }

  #command<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
    return this.#session.command(this.#window, method, path, body);
  }

  /** Evaluates an expression in the page, and awaits it if it is a promise. */
  async #run<T>(expression: string): Promise<T> {
    const script = `const done = arguments[0];
      (async () => (${expression}\n))().then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const answer = await this.#command<{ value: T; error?: string }>('POST', '/execute/async', {
      script,
      args: [],
    });
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value;
  }

  /** Calls a function of `in-page.js`, which it loads if necessary. */
  async #ask<T>(call: string): Promise<T> {
    for (;;) {
      const answer = await this.#run<{ value: T } | 'no script'>(
        `globalThis.parleyWalk === undefined ? 'no script' : { value: await parleyWalk.${call} }`,
      );
      if (answer !== 'no script') return answer.value;
      await this.#command('POST', '/execute/sync', { script: inPageScript, args: [] });
    }
  }

  /** Repeats an attempt until it returns undefined, and no longer a reason to retry. Throws after the timeout. */
  async #until(what: string, attempt: (isFirst: boolean) => Promise<string | undefined>): Promise<void> {
    let isFirst = true;
    for (const end = Date.now() + this.#timeoutMs; ; isFirst = false) {
      const reason = await attempt(isFirst).catch((error: unknown) => {
        if (error instanceof WebDriverError && passing.has(error.code)) return error.message;
        throw error;
      });
      if (reason === undefined) return;
      if (Date.now() > end) throw new Error(`${what}: timed out after ${this.#timeoutMs} ms. ${reason}`);
      await sleep(POLL_MS);
    }
  }

  /** Acts on an element once it has these states. A retry first scrolls it to the center, away from fixed elements. */
  #act(what: string, selector: string, states: string[], act: (element: Element) => Promise<void>) {
    return this.#until(`${what} ${selector}`, async (isFirst) => {
      const found = await this.#ask<Element | string>(
        `ready(${JSON.stringify(selector)}, ${JSON.stringify(states)}, ${!isFirst})`,
      );
      if (!isElement(found)) return String(found);
      await act(found);
      return undefined;
    });
  }

  readonly #locatorPage: LocatorPage = {
    ask: (name, ...args) => this.#ask(`${name}(${args.map((arg) => JSON.stringify(arg)).join()})`),
    evaluateWith: (selector, action) => this.#ask(`call(${JSON.stringify(selector)}, ${action})`),
    click: (selector) =>
      this.#act('click', selector, ['visible', 'enabled', 'stable'], (element) =>
        this.#command('POST', `${pathOf(element)}/click`),
      ),
    type: (selector, text) =>
      this.#act('type into', selector, ['visible', 'enabled', 'editable'], async (element) => {
        await this.#ask(`select(${JSON.stringify(selector)})`);
        await this.#command('POST', `${pathOf(element)}/value`, { text });
      }),
    press: (selector, keys) =>
      this.#act('press a key in', selector, ['visible'], async () => {
        await this.#ask(`focus(${JSON.stringify(selector)})`);
        await this.keyboard.press(keys);
      }),
    waitFor: (selector, state) =>
      this.#until(`wait for ${selector}`, async () => {
        const isSo = await this.#ask(`hasState(${JSON.stringify(selector)}, ${JSON.stringify(state)})`);
        return isSo ? undefined : `The element is not ${state}.`;
      }),
  };

  readonly #root = new Locator(this.#locatorPage, '');
  locator = this.#root.locator;
  getByRole = this.#root.getByRole;
  getByText = this.#root.getByText;
  getByLabel = this.#root.getByLabel;

  keyboard = {
    press: async (keys: string): Promise<void> => {
      const values = keys.split('+').map((key) => keyCodes[key] ?? key);
      const actions = [
        ...values.map((value) => ({ type: 'keyDown', value })),
        ...values.toReversed().map((value) => ({ type: 'keyUp', value })),
      ];
      await this.#command('POST', '/actions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
    },
  };

  async goto(url: string): Promise<{ status(): number | undefined }> {
    this.emit('request', { url: () => url });
    await this.#command('POST', '/url', { url });
    const status = this.#statusOf(url);
    return { status: () => status };
  }

  async evaluate<T>(action: string | ((arg: never) => T), arg?: unknown): Promise<T> {
    const expression =
      typeof action === 'string' ? action.replace(/;\s*$/, '') : `(${action})(${JSON.stringify(arg)})`;
    // The driver is slow to copy large objects.
    const json = await this.#run<string | null>(`JSON.stringify(await (${expression}\n))`);
    return JSON.parse(json ?? 'null');
  }

  /** Resizes the window until the page has this size. */
  async setViewportSize({ height, width }: Size): Promise<void> {
    await this.#until(`make the page ${width} × ${height}`, async () => {
      const [innerWidth = 0, innerHeight = 0] = await this.#run<number[]>('[innerWidth, innerHeight]');
      if (innerWidth === width && innerHeight === height) return undefined;
      const outer = await this.#command<Size>('GET', '/window/rect');
      await this.#command('POST', '/window/rect', {
        x: 0,
        y: 0,
        width: outer.width + width - innerWidth,
        height: outer.height + height - innerHeight,
      });
      return `It is ${innerWidth} × ${innerHeight} in a window of ${outer.width} × ${outer.height}.`;
    });
  }

  /** Does nothing: color scheme and reduced motion are user settings, which cannot change while the browser runs. */
  async emulateMedia(): Promise<void> {}

  /** Does nothing: WebKit renders every window. */
  async bringToFront(): Promise<void> {}

  /** Does nothing: walks add scripts only to report policy violations, which WebKit's console shows anyway. */
  async addInitScript(): Promise<void> {}

  setDefaultTimeout(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs;
  }

  waitForTimeout = (timeoutMs: number) => sleep(timeoutMs);

  async screenshot({ path }: { path: string }): Promise<void> {
    writeFileSync(path, await this.#command<string>('GET', '/screenshot'), 'base64');
  }

  cookies = () => this.#command<{ name: string; value: string }[]>('GET', '/cookie');

  close = () => this.#session.closeWindow(this.#window);

  /** Adds a listener for `console`, which includes uncaught errors of the page, or for `request`. */
  on(event: string, listener: Listener): void {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
  }
  emit(event: 'console', argument: Said): void;
  emit(event: 'request', argument: Asked): void;
  emit(event: string, argument: Said | Asked): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(argument as never);
  }
}
