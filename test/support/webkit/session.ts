/** A WebDriver session: https://www.w3.org/TR/webdriver2/ */
import { setImmediate as turn } from 'node:timers/promises';

const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

/** A reference to an element of a page. */
export type Element = { [ELEMENT]: string };

export const isElement = (value: unknown): value is Element =>
  typeof value === 'object' && value !== null && ELEMENT in value;

/** The path of commands for an element. */
export const pathOf = (element: Element): string => `/element/${element[ELEMENT]}`;

/** An error of a command. `code` is WebDriver's error code. */
export class WebDriverError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

type Method = 'GET' | 'POST' | 'DELETE';

async function send<T>(method: Method, url: string, body?: object): Promise<T> {
  const response = await fetch(url, {
    method,
    ...(method === 'POST' && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    }),
  });
  const { value } = (await response.json()) as { value: T & { error?: string; message?: string } };
  // Lines that the browser printed before its response are in a pipe by now. Let them be read before the test
  // continues.
  for (let times = 0; times < 2; times += 1) await turn();
  if (!response.ok) throw new WebDriverError(value?.error ?? String(response.status), value?.message ?? '');
  return value;
}

/** A session with one browser, which can have several windows. */
export class Session {
  readonly #url: string;
  /** The window of the latest command. */
  window: string;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(url: string, window: string) {
    this.#url = url;
    this.window = window;
  }

  /** Starts the browser, which opens one window. */
  static async open(driver: string, capabilities: object): Promise<Session> {
    const { sessionId } = await send<{ sessionId: string }>('POST', `${driver}/session`, {
      capabilities: { alwaysMatch: capabilities },
    });
    const url = `${driver}/session/${sessionId}`;
    await send('POST', `${url}/timeouts`, { script: 300_000, pageLoad: 300_000, implicit: 0 });
    return new Session(url, await send('GET', `${url}/window`));
  }

  /**
   * Opens a window, and not a tab, because the browser does not render background tabs. Returns the window's handle.
   */
  async openWindow(): Promise<string> {
    const opened = await this.command<{ handle: string }>(this.window, 'POST', '/window/new', {
      type: 'window',
    });
    return opened.handle;
  }

  /** Closes a window, and selects one of the others. */
  async closeWindow(window: string): Promise<void> {
    const [left = ''] = await this.command<string[]>(window, 'DELETE', '/window');
    this.window = left;
    await this.command(left, 'POST', '/window', { handle: left });
  }

  /** Sends a command to a window. Commands run one at a time, because each applies to the selected window. */
  command<T>(window: string, method: Method, path: string, body?: object): Promise<T> {
    const result = this.#last.then(async () => {
      if (this.window !== window) {
        await send('POST', `${this.#url}/window`, { handle: window });
        this.window = window;
      }
      return send<T>(method, this.#url + path, body);
    });
    this.#last = result.catch(() => {});
    return result;
  }

  /** Closes the browser. */
  async end(): Promise<void> {
    await this.#last;
    await send('DELETE', this.#url);
  }
}
