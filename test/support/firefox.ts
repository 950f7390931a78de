/** Debian's Firefox, controlled through WebDriver BiDi. */
import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
// The newest version whose commands Firefox ESR supports.
import { firefox } from 'playwright-core-bidi';
import type { Test } from 'tap';
import { proxyToServer } from './connect-proxy.ts';

const executablePath = '/usr/bin/firefox-esr';

/** The reason to skip tests that need Firefox, or false if it is installed. */
export const noFirefox: string | false =
  !existsSync(executablePath) &&
  `${executablePath} is not installed (on Debian: apt-get install firefox-esr)`;

/**
 * Starts a Firefox that connects every https host to the server at `port`, and reads the clipboard without a prompt.
 */
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
  // The newer type has more methods, which no test uses.
  return browser as unknown as Browser;
}
