/** Debian's Firefox, driven with WebDriver BiDi. */
import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
// The newest version that sends no command which Firefox's extended support release does not know.
import { firefox } from 'playwright-core-bidi';
import type { Test } from 'tap';
import { proxyToServer } from './connect-proxy.ts';

const executablePath = '/usr/bin/firefox-esr';

/** Why tests in Firefox are skipped, visibly, on this machine; false where there is one. */
export const noFirefox: string | false =
  !existsSync(executablePath) && `there is no ${executablePath} (on Debian: apt-get install firefox-esr)`;

/** Starts a Firefox that finds every https host on the server at `port`, and reads the clipboard without asking. */
export async function launchFirefox(t: Test, port: number, scheme: 'light' | 'dark'): Promise<Browser> {
  const proxyPort = await proxyToServer(t, port);
  const browser = await firefox.launch({
    executablePath,
    channel: 'moz-firefox',
    firefoxUserPrefs: {
      'network.proxy.type': 1,
      'network.proxy.ssl': '127.0.0.1',
      'network.proxy.ssl_port': proxyPort,
      'dom.events.testing.asyncClipboard': true,
      'layout.css.prefers-color-scheme.content-override': scheme === 'dark' ? 0 : 1,
      'ui.prefersReducedMotion': 1,
    },
  });
  // The newer version has more methods, which no test uses.
  return browser as unknown as Browser;
}
