/** A session of WebDriver: https://www.w3.org/TR/webdriver2/ */
import { setImmediate as turn } from 'node:timers/promises';

const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

/** An element of a page, as commands name it. */
export type Element = { [ELEMENT]: string };

export const isElement = (value: unknown): value is Element =>
  typeof value === 'object' && value !== null && ELEMENT in value;

/** The path of an element's commands. */
export const pathOf = (element: Element): string => `/element/${element[ELEMENT]}`;

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
  // What the browser printed before it answered is in a pipe by now. It is read before the test goes on.
  for (let times = 0; times < 2; times += 1) await turn();
  if (!response.ok) throw new WebDriverError(value?.error ?? String(response.status), value?.message ?? '');
  return value;
}

export class Session {
  readonly #url: string;
  /** The window of the latest command. */
  window: string;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(url: string, window: string) {
    this.#url = url;
    this.window = window;
  }

  /** Starts the browser. Its session has one window. */
  static async open(driver: string, capabilities: object): Promise<Session> {
    const { sessionId } = await send<{ sessionId: string }>('POST', `${driver}/session`, {
      capabilities: { alwaysMatch: capabilities },
    });
    const url = `${driver}/session/${sessionId}`;
    await send('POST', `${url}/timeouts`, { script: 300_000, pageLoad: 300_000, implicit: 0 });
    return new Session(url, await send('GET', `${url}/window`));
  }

  /** Opens a window, not a tab: a page in a tab behind another one is not drawn. */
  async openWindow(): Promise<string> {
    const opened = await this.command<{ handle: string }>(this.window, 'POST', '/window/new', {
      type: 'window',
    });
    return opened.handle;
  }

  async closeWindow(window: string): Promise<void> {
    const [left = ''] = await this.command<string[]>(window, 'DELETE', '/window');
    this.window = left;
    await this.command(left, 'POST', '/window', { handle: left });
  }

  /** Commands are sent one at a time, because each is for the window that is selected. */
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

  async end(): Promise<void> {
    await this.#last;
    await send('DELETE', this.#url);
  }
}
