/**
 * A real browser (Debian's Chromium, Firefox, or WebKitGTK) with real https origins. Each site of a test has its own
 * host name, which the browser resolves to a server in the test. Nothing between the browser and the service is mocked.
 */
import { existsSync, readFileSync } from 'node:fs';
import { request as httpRequest, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { selfSigned } from './certificate.ts';
import { launchFirefox } from './firefox.ts';
import { launchWebKit, WebKitContext } from './webkit/launch.ts';

const executablePath = '/usr/bin/chromium';

/** The reason to skip tests that need Chromium, or false if it is installed. */
export const noBrowser: string | false =
  !existsSync(executablePath) && `${executablePath} is not installed (on Debian: apt-get install chromium)`;

const launchOptions = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
};

/**
 * A site with an empty page.
 *
 * @param folders - folders whose files the site also serves, by the path segment to serve them under
 */
export function site(folders: Record<string, URL> = {}): RequestListener {
  return ({ url = '/' }, response) => {
    if (url === '/')
      return response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>A site</title>');
    const [, name = '', path = ''] = /^\/([^/]+)\/([\w./-]+)$/.exec(url) ?? [];
    const folder = folders[name];
    const file = folder && !path.includes('..') ? fileURLToPath(new URL(path, folder)) : '';
    if (!existsSync(file)) return response.writeHead(404).end();
    return response
      .writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
      .end(readFileSync(file));
  };
}

/** A reverse proxy as in production: terminates TLS, sets `X-Forwarded-*`, and streams in both directions. */
export function proxyTo(port: number): RequestListener {
  return (request, response) => {
    const { headers, method, socket, url } = request;
    const forwarded = { 'x-forwarded-for': socket.remoteAddress, 'x-forwarded-proto': 'https' };
    const onward = httpRequest(
      { host: '127.0.0.1', port, method, path: url, headers: { ...headers, ...forwarded } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  };
}

/** The browser's cookies as a `Cookie` header, in no particular order. */
export async function cookieHeader(context: BrowserContext): Promise<string> {
  return (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
}

/** A site whose pages may read the clipboard, which the policy of the service's pages forbids. */
const CLIPBOARD_HOST = 'clipboard.test';

/** Returns the clipboard's text in a browser that `startBrowser` started. Then brings `page` to the front. */
export async function clipboardText(context: BrowserContext, page: Page): Promise<string> {
  const reader = await context.newPage();
  await reader.goto(`https://${CLIPBOARD_HOST}/`);
  const text = await (context instanceof WebKitContext ? pasted(reader) : readClipboard(reader));
  await reader.close();
  // Chromium renders a background page only once a second.
  await page.bringToFront();
  return text;
}

const readClipboard = (page: Page) => page.evaluate<string>('navigator.clipboard.readText()');

/** Reads the clipboard by pasting, because WebKit asks the user before a page may read it. */
async function pasted(page: Page): Promise<string> {
  await page.evaluate(`document.body.append(document.createElement('textarea'))`);
  await page.locator('textarea').press('Control+v');
  return page.evaluate<string>(`document.querySelector('textarea').value`);
}

/** A browser other than Chromium. Its color scheme cannot change while it runs. */
export type OtherBrowser = { name: 'firefox' | 'webkit'; scheme: 'light' | 'dark' };

export type TestBrowser = {
  context: BrowserContext;
  /** Opens a page. `complaints` collects the errors and warnings in its console. */
  open(url: string): Promise<{ page: Page; complaints: string[] }>;
};

/**
 * Starts a browser and a server for its sites. Both stop when the test ends.
 *
 * @param sites - the request listener of each host, such as `app.test` or `app.test:8443`
 * @param other - a browser to start instead of Chromium
 */
export async function startBrowser(
  t: Test,
  sites: Record<string, RequestListener>,
  other?: OtherBrowser,
): Promise<TestBrowser> {
  const served: Record<string, RequestListener> = { [CLIPBOARD_HOST]: site(), ...sites };
  const { cert, fingerprint, key } = selfSigned();
  const server = createServer({ cert, key }, (request, response) => {
    const listener = served[request.headers.host ?? ''];
    if (listener === undefined) response.writeHead(421).end();
    else listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { close, context } =
    other?.name === 'webkit'
      ? await launchWebKit(t, server, other.scheme, Object.keys(served))
      : await contextOf(
          other
            ? await launchFirefox(t, port, other.scheme)
            : await launchChromium(Object.keys(served), port, fingerprint),
          other !== undefined,
        );
  t.teardown(async () => {
    await close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  if (!other) await context.grantPermissions(['clipboard-read'], { origin: `https://${CLIPBOARD_HOST}` });
  return {
    context,
    open: async (url) => {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      await page.goto(url);
      return { page, complaints };
    },
  };
}

async function contextOf(browser: Browser, ignoreHTTPSErrors: boolean) {
  return { context: await browser.newContext({ ignoreHTTPSErrors }), close: () => browser.close() };
}

/** Starts a Chromium that resolves every host to the server at `port`, and trusts its certificate. */
function launchChromium(hosts: string[], port: number, fingerprint: string): Promise<Browser> {
  const rules = hosts.map((host) => `MAP ${host.includes(':') ? host : `${host}:443`} 127.0.0.1:${port}`);
  return chromium.launch({
    executablePath,
    args: [
      ...launchOptions,
      `--host-resolver-rules=${rules.join(', ')}`,
      `--ignore-certificate-errors-spki-list=${fingerprint}`,
    ],
  });
}

/** Returns the name and the content of the file that a click downloads. */
export async function savedFile(
  page: Page,
  click: () => Promise<void>,
): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return { name: download.suggestedFilename(), text: await text(await download.createReadStream()) };
}
