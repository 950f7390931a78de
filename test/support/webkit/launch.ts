/** Debian's WebKitGTK in its MiniBrowser, controlled through WebDriver. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { BrowserContext } from 'playwright-core';
import type { Test } from 'tap';
import { proxyToServer } from '../connect-proxy.ts';
import { WebKitPage } from './page.ts';
import { startDriver } from './programs.ts';
import { Session } from './session.ts';

/** A line of the console, such as `https://parley.test/:1:7: CONSOLE JS ERROR TypeError: …`. */
const consoleLine = /\bCONSOLE (?:[A-Z]+ )??(WARN|ERROR)\b:? *(.*)$/;

/** The part of Playwright's `BrowserContext` that walks use. */
export class WebKitContext {
  readonly #session: Session;
  readonly #statuses = new Map<string, number>();
  readonly #pages = new Map<string, WebKitPage>();

  constructor(session: Session, server: Server) {
    this.#session = session;
    server.on('request', ({ headers, url }: IncomingMessage, response: ServerResponse) =>
      response.on('finish', () => this.#statuses.set(`https://${headers.host}${url}`, response.statusCode)),
    );
  }

  async newPage(): Promise<WebKitPage> {
    const window = this.#pages.size === 0 ? this.#session.window : await this.#session.openWindow();
    const page = new WebKitPage(this.#session, window, (url) => this.#statuses.get(url.replace(/#.*/, '')));
    this.#pages.set(window, page);
    return page;
  }

  /** The cookies of the page that was opened first. */
  async cookies(): Promise<{ name: string; value: string }[]> {
    const [page] = this.#pages.values();
    return (await page?.cookies()) ?? [];
  }

  /** The page of the latest command. Console messages belong to it, because they do not name their page. */
  get current(): WebKitPage | undefined {
    return this.#pages.get(this.#session.window);
  }
}

/**
 * Starts a WebKit that connects every https host to a server.
 *
 * @param hosts - the hosts that the server serves; connections to others are reported as requests of the current page
 */
export async function launchWebKit(
  t: Test,
  server: Server,
  scheme: 'light' | 'dark',
  hosts: readonly string[],
): Promise<{ context: BrowserContext; close(): Promise<void> }> {
  let context: WebKitContext | undefined;
  const driver = await startDriver(t, scheme, (line) => {
    const [, level, text = ''] = consoleLine.exec(line) ?? [];
    if (level !== undefined)
      context?.current?.emit('console', {
        type: () => (level === 'ERROR' ? 'error' : 'warning'),
        text: () => text,
      });
  });
  const { port } = server.address() as AddressInfo;
  const proxyPort = await proxyToServer(t, port, (host) => {
    if (!hosts.includes(host.replace(/:443$/, '')))
      context?.current?.emit('request', { url: () => `https://${host}/` });
  });
  const session = await Session.open(driver, {
    acceptInsecureCerts: true,
    'webkitgtk:browserOptions': {
      args: [
        '--automation',
        `--proxy=http://127.0.0.1:${proxyPort}`,
        '--enable-write-console-messages-to-stdout=true',
        ...(scheme === 'dark' ? ['--dark-mode'] : []),
      ],
    },
  });
  context = new WebKitContext(session, server);
  // The real type has more methods, which no walk uses.
  return { context: context as unknown as BrowserContext, close: () => session.end() };
}
