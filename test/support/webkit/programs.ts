/** The programs for WebKitGTK: its WebDriver, and a virtual display for the browser's windows. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { freePort } from '../programs.ts';

const driverPath = '/usr/bin/WebKitWebDriver';
const displayPath = '/usr/bin/Xvfb';

/** The size of the display, which is larger than every window. */
const SCREEN = '1600x1200x24';

const missing = Object.entries({ 'webkit2gtk-driver': driverPath, xvfb: displayPath }).find(
  ([, path]) => !existsSync(path),
);

/** The reason to skip tests that need WebKit, or false if its programs are installed. */
export const noWebKit: string | false =
  missing !== undefined && `${missing[1]} is not installed (on Debian: apt-get install ${missing[0]})`;

/**
 * Starts a program, which is killed with all its child processes when the test ends. If the test is killed, the program
 * is killed too, and the browser exits when its display is gone.
 */
function startGroup(t: Test, program: string, args: string[], options: SpawnOptions): ChildProcess {
  const command = ['--pdeathsig', 'KILL', '--', program, ...args];
  const child = spawn('setpriv', command, { ...options, detached: true });
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All processes have already exited.
    }
  };
  process.once('exit', end);
  t.teardown(() => {
    process.off('exit', end);
    end();
  });
  return child;
}

/** Starts a virtual display. Returns its name. */
async function startDisplay(t: Test): Promise<string> {
  const args = ['-displayfd', '3', '-screen', '0', SCREEN, '-nolisten', 'tcp'];
  const child = startGroup(t, displayPath, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const [number] = await once(child.stdio[3] as Readable, 'data');
  return `:${String(number).trim()}`;
}

/** Creates a home folder for the browser, with the user's settings. */
function homeFolder(t: Test, scheme: 'light' | 'dark'): string {
  const home = mkdtempSync(join(tmpdir(), 'parley-webkit-'));
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const settings = [
    '[Settings]',
    'gtk-enable-animations=false',
    `gtk-application-prefer-dark-theme=${scheme === 'dark'}`,
  ];
  mkdirSync(join(home, '.config/gtk-3.0'), { recursive: true });
  writeFileSync(join(home, '.config/gtk-3.0/settings.ini'), `${settings.join('\n')}\n`);
  // The toolbar of the browser's window would be wider than a phone.
  writeFileSync(join(home, '.config/gtk-3.0/gtk.css'), 'button { min-width: 0; padding: 0; border: 0; }\n');
  return home;
}

/**
 * Starts a WebDriver and a display for its browser. Both are killed when the test ends.
 *
 * @param onLine - receives each line that the browser prints
 * @returns the URL of the WebDriver
 */
export async function startDriver(
  t: Test,
  scheme: 'light' | 'dark',
  onLine: (line: string) => void,
): Promise<string> {
  const home = homeFolder(t, scheme);
  const port = await freePort();
  const child = startGroup(t, driverPath, [`--port=${port}`], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      DISPLAY: await startDisplay(t),
      LANG: 'C',
      GSETTINGS_BACKEND: 'memory',
      NO_AT_BRIDGE: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const output of [child.stdout, child.stderr])
    createInterface({ input: output as Readable }).on('line', onLine);
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/status`).catch(() => undefined))) {
    if (child.exitCode !== null) throw new Error(`${driverPath} exited with code ${child.exitCode}`);
    await sleep(50);
  }
  return url;
}
