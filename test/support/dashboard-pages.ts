/** The dashboard of a signed-in user whose time zone is far from UTC, with a proxy that can block the service. */
import { existsSync, writeFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Test } from 'tap';
import { projectRoot } from '../../src/project.ts';
import { noBrowser, proxyTo, startBrowser } from './browser.ts';
import { startWalk } from './dashboard-walk.ts';
import type { Owner } from './http.ts';
import { type Ceilings, startTestService, type TestService } from './service.ts';

export const HOST = 'parley.test';
export const HOME = `https://${HOST}`;
const TIMEZONE = 'Asia/Kolkata';
/** How the dashboard shows midnight UTC in that time zone. */
export const RESET = '00:00 UTC (05:30 your time)';

/** The reason to skip tests of the dashboard, or false to run them. */
export const noDashboard: string | false =
  noBrowser ||
  (!existsSync(new URL('dist/dashboard/index.html', projectRoot)) && 'the dashboard is not built: make test');

export const plan = (id: string, name: string, cents: number, limits: Ceilings, perMinute: number) => ({
  id,
  name,
  currency: 'USD',
  monthly_price_cents: cents,
  limits: { chat: null, images: null, search: null, ...limits },
  requests_per_minute: perMinute,
});

/**
 * Writes a file with plans whose daily chat quota is small enough to use up.
 *
 * @param free - the chat quota of the plan that accounts start with
 * @param plus - the chat quota of the next plan
 * @param perMinute - the requests per minute of both plans
 * @returns the path of the file
 */
export function fewChats(t: Test, free = 8, plus = 1000, perMinute = 1000): string {
  const file = join(t.testdir(), 'plans.json');
  const data = [
    plan('free', 'Free', 0, { chat: free, images: 5, search: 50 }, perMinute),
    plan('plus', 'Plus', 1000, { chat: plus, images: 50, search: 500 }, perMinute),
    plan('pro', 'Pro', 3000, { chat: 10_000, images: 500, search: 5000 }, 3000),
  ];
  writeFileSync(file, JSON.stringify({ data }));
  return file;
}

/** How the proxy between the browser and the service treats requests whose path starts with a prefix. */
export type Between = {
  /** Requests with this prefix get no response. */
  holds?: string;
  /** Requests with this prefix get a 502 from the proxy. */
  breaks?: string;
  /** Whether the service runs another build, so that the files of this one are gone. */
  isUpdated?: boolean;
};

/**
 * Starts a service with an account, and a browser that is signed in to it.
 *
 * @param path - the first page
 * @param env - environment variables of the service
 * @param newOwner - signs in to the account; by default, it signs up a new one
 * @param language - the language of the dashboard
 */
export async function startDashboard(
  t: Test,
  path: string,
  env: Record<string, string> = {},
  newOwner: (service: TestService) => Promise<Owner> = ({ client }) => client.signUp(),
  language: 'en' | 'de' = 'en',
) {
  const started = await startTestService(t, 'postgres', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
    PLANS_FILE: env.PLANS_FILE ?? fewChats(t),
    OPERATOR_CONTACT: 'ops@example.com',
    ...env,
  });
  const { client, database, port } = started;
  const service = proxyTo(port);
  const between: Between = {};
  /** The idempotency key of each chat that was sent. */
  const chats: (string | undefined)[] = [];
  const answers = new Set<ServerResponse>();
  const proxy: RequestListener = (request, response) => {
    const { headers, method, url = '' } = request;
    if (method === 'POST' && url === '/api/v1/chat') {
      chats.push(headers['idempotency-key']?.toString());
      answers.add(response);
      response.on('close', () => answers.delete(response));
    }
    if (between.isUpdated && url.startsWith('/assets/'))
      return response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
    if (between.isUpdated && url === '/')
      return response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><script type="module" src="/assets/index-AnotherBuild.js"></script>');
    if (between.holds && url.startsWith(between.holds)) return;
    if (between.breaks && url.startsWith(between.breaks))
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    else service(request, response);
  };
  const { context } = await startBrowser(t, { [HOST]: proxy });
  await context.grantPermissions(['clipboard-write'], { origin: HOME });
  await context.addInitScript(`localStorage.setItem('parley.session', 'in')`);
  if (language !== 'en')
    await context.addInitScript(`localStorage.setItem('parley.language', '${language}')`);
  const { accountId, cookie, email, password } = await newOwner(started);
  const [name = '', value = ''] = cookie.split(/=(.*)/);
  await context.addCookies([{ name, value, url: HOME, httpOnly: true, secure: true, sameSite: 'Strict' }]);
  const walk = await startWalk(t, context, HOME + path);
  walk.page.setDefaultTimeout(120_000);
  const session = await context.newCDPSession(walk.page);
  await session.send('Emulation.setTimezoneOverride', { timezoneId: TIMEZONE });
  return {
    ...walk,
    accountId,
    client,
    context,
    cookie,
    database,
    email,
    password,
    chats,
    /** Sets how the proxy treats requests, in place of the previous setting. */
    setBetween(next: Between): void {
      for (const key of ['holds', 'breaks', 'isUpdated'] as const) delete between[key];
      Object.assign(between, next);
    },
    /** Drops the connection of every chat in flight. */
    cutChats(): void {
      for (const answer of answers) answer.destroy();
    },
    button: (label: string | RegExp) => walk.page.getByRole('button', { name: label }),
    text: (words: string | RegExp) => walk.page.getByText(words),
    dialog: walk.page.getByRole('dialog'),
  };
}
