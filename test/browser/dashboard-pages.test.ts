// Chat, usage and plan as people use them, in a real browser under the dashboard's strict policy.
import { existsSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { projectRoot } from '../../src/project.ts';
import { noBrowser, proxyTo, startBrowser } from '../support/browser.ts';
import { startWalk } from '../support/dashboard-walk.ts';
import { type Ceilings, startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const HOST = 'parley.test';
const HOME = `https://${HOST}`;
const EMAIL = 'ada@example.com';
const PASSWORD = 'correct horse battery';
const notBuilt =
  !existsSync(new URL('dist/dashboard/index.html', projectRoot)) && 'the dashboard is not built: make test';

t.setTimeout(600_000);

/** What the upstream says back. */
const MARKDOWN = [
  'Two ways to call it:',
  '',
  '```bash',
  'curl https://parley.test/api/v1/chat -H "Authorization: Bearer $PARLEY_KEY" -H "Content-Type: application/json" -d \'{"message":"Hello"}\'',
  '```',
  '',
  '| Plan | Chat a day | Price |',
  '|---|--:|---|',
  '| Free | 50 | nothing |',
  '| Plus | 1,000 | 10.00 USD a month |',
  '',
  '1. **Create** a key in [Your API](https://parley.test/your-api).',
  '2. Send it as `Authorization`.',
  '',
  '![A picture](https://elsewhere.test/picture.png) <script>alert(1)</script>',
].join('\n');

const plan = (id: string, name: string, cents: number, limits: Ceilings, perMinute: number) => ({
  id,
  name,
  currency: 'USD',
  monthly_price_cents: cents,
  limits: { chat: null, images: null, search: null, ...limits },
  requests_per_minute: perMinute,
});

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

t.test('chat, usage and plan', { skip: noBrowser || notBuilt }, async (t) => {
  const plans = join(t.testdir(), 'plans.json');
  const data = [
    plan('free', 'Free', 0, { chat: 8, images: 5, search: 50 }, 1000),
    plan('plus', 'Plus', 1000, { chat: 1000, images: 50, search: 500 }, 1000),
    plan('pro', 'Pro', 3000, { chat: 10_000, images: 500, search: 5000 }, 3000),
  ];
  writeFileSync(plans, JSON.stringify({ data }));
  const { client, port } = await startTestService(t, 'embedded', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
    PLANS_FILE: plans,
    CHAT_URL: upstream.url,
    BILLING: 'open',
    OPERATOR_CONTACT: 'ops@example.com',
  });
  const service = proxyTo(port);
  /** What stands between the browser and the service: passes, holds, or cuts answers to chats. */
  let proxy: { holds?: string; breaks?: string; cuts?: boolean; managed?: boolean } = {};
  const sent: string[] = [];
  const between: RequestListener = (request, response) => {
    const { method, url = '' } = request;
    if (method === 'POST' && url === '/api/v1/chat') {
      sent.push(String(request.headers['idempotency-key']));
      if (proxy.cuts) setTimeout(() => response.destroy(), 1500);
    }
    if (proxy.holds && url.startsWith(proxy.holds)) return;
    if (proxy.breaks && url.startsWith(proxy.breaks))
      return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    service(request, response);
  };
  const { context } = await startBrowser(t, { [HOST]: between });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: HOME });
  await context.addInitScript(`localStorage.setItem('parley.session', 'in')`);
  const { cookie, email } = await client.signUp(EMAIL, PASSWORD);
  const [name = '', value = ''] = cookie.split(/=(.*)/);
  await context.addCookies([{ name, value, url: HOME, httpOnly: true, secure: true, sameSite: 'Strict' }]);
  t.equal(email, EMAIL);
  const { complaints, expectRefusals, look, page } = await startWalk(t, context, `${HOME}/chat`);
  page.setDefaultTimeout(30_000);
  const berlin = await context.newCDPSession(page);
  await berlin.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Kolkata' });

  const button = (label: string | RegExp) => page.getByRole('button', { name: label });
  const dialog = page.getByRole('dialog');
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  const text = (words: string | RegExp) => page.getByText(words);
  const said = async () => (await page.getByRole('status').allTextContents()).join('\n');
  const ended = () => page.locator('[role=log][aria-busy=false]').waitFor();
  const path = () => new URL(page.url()).pathname;
  const ask = async (message: string) => {
    await field.fill(message);
    await field.press('Enter');
    await page.waitForFunction(`document.querySelector('textarea').value === ''`);
  };

  await t.test('an empty chat', async (t) => {
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    await text('8 of 8 replies left today').waitFor();
    await look(t, 'chat-empty');
    await field.fill('a');
    await field.press('Shift+Enter');
    t.equal(await field.inputValue(), 'a\n');
  });

  await t.test('an answer comes as it is made, and is announced once', async (t) => {
    await upstream.configure({ chunkIntervalMs: 400 });
    await ask(MARKDOWN);
    await log.getByText('Two ways').last().waitFor();
    await page.waitForURL('**/chat/*');
    t.match(await log.getAttribute('aria-busy'), 'true');
    await look(t, 'chat-streaming');
    await upstream.configure({});
    await button('Stop').click();
    await text('You stopped the answer here.').waitFor();
    await ended();
    t.match(await said(), /The answer was stopped: You said: Two/, 'announced');
    await look(t, 'chat-stopped');
    expectRefusals(30);
    await button('Show the whole answer').click();
    await text('Send it as').last().waitFor({ timeout: 60_000 });
    await ended();
    expectRefusals(0);
    await text('7 of 8 replies left today').waitFor();
    t.equal(new Set(sent).size, 1, 'sent again under the same key');
    await button('Copy the code').last().click();
    t.match(await page.evaluate('navigator.clipboard.readText()'), /^curl .*'$/);
    t.equal(await log.locator('img, script').count(), 0);
    await page.evaluate('scrollTo(0, 1e6)');
    await look(t, 'chat-answer');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: /Two ways/ }).waitFor();
    await log.getByRole('table').last().waitFor();
    t.equal(await log.getByRole('article').count(), 2);
  });

  await t.test('a lost connection: tried again, and not charged twice', async (t) => {
    await upstream.configure({ chunkIntervalMs: 400 });
    proxy = { cuts: true };
    await ask('one two three four five six seven eight nine ten');
    expectRefusals(40);
    await text('The connection broke before the answer was whole.').waitFor();
    await look(t, 'chat-lost');
    proxy = {};
    await upstream.configure({});
    await button('Try again').click();
    await log.getByText('You said: one two three').waitFor();
    await ended();
    expectRefusals(0);
    await text('6 of 8 replies left today').waitFor();
    t.equal(sent.at(-1), sent.at(-2));
    t.equal(await log.getByRole('article').count(), 4);
  });

  await t.test('the end is followed while somebody is there', async (t) => {
    await upstream.configure({ chunks: 300, chunkSize: 30, chunkIntervalMs: 20 });
    await ask('Tell me a lot.');
    const offset = () =>
      page.evaluate<number>(
        'document.documentElement.scrollHeight - innerHeight - document.documentElement.scrollTop',
      );
    const height = () => page.evaluate<number>('document.documentElement.scrollHeight');
    const before = await height();
    while ((await height()) < before + 800) await sleep(100);
    t.ok((await offset()) < 200, 'it follows');
    await page.mouse.wheel(0, -1500);
    await button('Scroll to the end').waitFor();
    const { length: chunks } = (await log.textContent()) ?? '';
    await sleep(1000);
    t.ok(((await log.textContent()) ?? '').length > chunks, 'more came');
    t.ok((await offset()) > 500, 'and it stayed');
    await look(t, 'chat-away');
    await button('Scroll to the end').click();
    t.ok((await offset()) < 300);
    await page.keyboard.press('Escape');
    await text('You stopped the answer here.').waitFor();
    await upstream.configure({});
  });

  await t.test('conversations: found by title, opened, deleted', async (t) => {
    await button('New chat').click();
    await page.waitForURL('**/chat');
    await ask('How many keys may I have?');
    await ended();
    await page.waitForURL('**/chat/*');
    const list = page.getByRole('complementary', { name: 'Conversations' });
    await list.getByRole('link', { name: 'How many keys' }).waitFor();
    t.equal(await list.getByRole('link').count(), 2);
    await look(t, 'chat-conversations');
    await list.getByLabel('Search titles').fill('WAYS');
    t.equal(await list.getByRole('link').count(), 1);
    await list.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: /Two ways/ }).waitFor();
    await list.getByLabel('Search titles').fill('');
    await page.setViewportSize({ width: 390, height: 844 });
    await button('Conversations').click();
    await dialog.getByRole('link', { name: 'How many keys' }).waitFor();
    await look(t, 'chat-list-dialog');
    await page.setViewportSize({ width: 390, height: 844 });
    await dialog.getByRole('link', { name: 'How many keys' }).click();
    await page.getByRole('heading', { level: 1, name: /How many keys/ }).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    await list.getByRole('button', { name: /Delete “How many/ }).click();
    await dialog.waitFor();
    await look(t, 'chat-delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.waitFor({ state: 'detached' });
    t.equal(path(), '/chat');
    t.equal(await list.getByRole('link').count(), 1);
  });

  await t.test('a conversation that is not there, and a service that is not', async (t) => {
    expectRefusals(1);
    await page.goto(`${HOME}/chat/01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f`);
    await page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
    await look(t, 'chat-not-found');
    await upstream.configure({ fault: 'status', status: 500 });
    await page.goto(`${HOME}/chat`);
    expectRefusals(1);
    await field.fill('Is anybody there?');
    await field.press('Enter');
    await page.getByRole('alert').waitFor();
    t.match(await page.getByRole('alert').textContent(), /Request id [0-9a-f-]{36}/);
    await look(t, 'chat-failed');
    await upstream.configure({});
    expectRefusals(0);
  });

  await t.test('when nothing is left today', async (t) => {
    for (let left = 4; left > 0; left -= 1) {
      const answer = await client.post('/chat', { message: `Question ${left}` }, { cookie });
      if (answer.status !== 200) break;
    }
    await page.goto(`${HOME}/chat`);
    await text("Today's replies are used up").waitFor();
    await text(/at 00:00 UTC \(05:30 your time\), in \d/).waitFor();
    await field.fill('One more?');
    t.ok(await button('Send').isDisabled());
    await look(t, 'chat-out-of-quota');
  });

  await t.test('usage: today, 30 days, and every request', async (t) => {
    const key = await client.createKey({ cookie }, { name: 'Website' });
    await client.post('/search', { query: 'keys' }, { key: key.key });
    for (let time = 0; time < 3; time += 1) await client.post('/chat', { message: 'No' }, { key: key.key });
    await client.post('/images/generations', { prompt: 'A hill' }, { cookie });
    await sleep(3000);
    await page.goto(`${HOME}/usage`);
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await text('8 of 8').waitFor();
    await text(/go back to 0 at 00:00 UTC \(05:30 your time\), in \d/).waitFor();
    await page.getByRole('img', { name: /8 chat replies in 30 UTC days/ }).waitFor();
    await text(/today \(UTC\): 8 chat replies/).waitFor();
    await look(t, 'usage');
    await button('The day before').click();
    await text(/\(UTC\): 0 chat replies/).waitFor();
    await page.getByText('Search', { exact: true }).click();
    await page.getByLabel('Used by').selectOption({ label: `Website (${key.key_prefix}…)` });
    await page.getByRole('img', { name: /1 search in 30/ }).waitFor();
    await button('The day after').click();
    await page.getByRole('heading', { name: 'Requests' }).scrollIntoViewIfNeeded();
    await page.getByRole('row', { name: /3 requests refused Website 429 quotaExceeded/ }).waitFor();
    await look(t, 'usage-log');
    await page.setViewportSize({ width: 390, height: 844 });
    const card = page.getByRole('listitem').filter({ hasText: '3 requests refused' });
    await card.getByRole('button', { name: /^Details/ }).scrollIntoViewIfNeeded();
    t.equal(await page.getByRole('table').count(), 0);
    if (process.env.SCREENSHOTS === '1') await page.screenshot({ path: 'screenshots/usage-cards.png' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByLabel('Status').selectOption('429');
    await page.waitForURL('**/usage?status=429');
    await page.getByRole('row', { name: /POST/ }).first().waitFor({ state: 'detached' });
    await look(t, 'usage-log-refused');
    await button(/^Details of 3 requests/).click();
    await dialog.waitFor();
    await look(t, 'usage-details-refused');
    await page.keyboard.press('Escape');
    await page.getByLabel('Status').selectOption('2xx');
    await page.getByLabel('Endpoint').selectOption('POST /api/v1/search');
    await page
      .getByRole('row', { name: /search/ })
      .first()
      .waitFor();
    await button(/^Details of POST/).click();
    await dialog.getByText('Request id in this log').waitFor();
    await look(t, 'usage-details');
    await page.keyboard.press('Escape');
    const [download] = await Promise.all([page.waitForEvent('download'), button('CSV of these 1').click()]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    t.match(
      Buffer.concat(chunks).toString(),
      /^time_utc,kind,.*\r\n[^\r]*,POST \/api\/v1\/search,Website,[^\r]*\r\n$/,
    );
    await page.getByLabel('Status').selectOption('5xx');
    await text('No such request').waitFor();
    await look(t, 'usage-log-none');
  });

  await t.test('usage: nothing yet, loading, and what cannot be loaded', async (t) => {
    proxy = { holds: '/api/v1/usage' };
    await page.goto(`${HOME}/usage`);
    await text('Loading …').first().waitFor({ state: 'attached' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await look(t, 'usage-loading');
    proxy = { breaks: '/api/v1/usage' };
    expectRefusals(20);
    await page.goto(`${HOME}/usage`);
    await text(/answered with 502/)
      .first()
      .waitFor();
    await look(t, 'usage-failed');
    proxy = {};
    expectRefusals(0);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await text('8 of 8').waitFor();
    await context.setOffline(true);
    await text('You are offline').waitFor();
    await look(t, 'usage-offline');
    await context.setOffline(false);
  });

  await t.test('plan: side by side, and a change that names its price', async (t) => {
    await page.goto(`${HOME}/plan`);
    await text('10.00 USD a month').first().waitFor();
    await look(t, 'plan-monthly');
    await page.getByText('Yearly', { exact: true }).click();
    await text('99.60 USD once a year: saves 17 %.').waitFor();
    await text('8.30 USD a month').waitFor();
    await look(t, 'plan-yearly');
    await button('Change to Plus').click();
    await dialog.getByText('99.60 USD a year').first().waitFor();
    await look(t, 'plan-confirm');
    await button('Change, for 99.60 USD a year').click();
    await text('You are on Plus now, for 99.60 USD a year.').waitFor();
    t.match((await client.get('/subscription', { cookie })).body, { plan: 'plus', billing_period: 'yearly' });
    await button('Change to Free').click();
    await dialog.getByText('You used 8 of 8 replies a day already.').waitFor();
    await look(t, 'plan-downgrade');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    t.match(await page.evaluate('document.activeElement.textContent'), 'Change to Free');
  });

  t.same(complaints, [], 'nothing in the console');
});

t.test('a plan that the operator manages, and a new account', { skip: noBrowser || notBuilt }, async (t) => {
  const { client, port } = await startTestService(t, 'embedded', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
    OPERATOR_CONTACT: 'ops@example.com',
  });
  const { context } = await startBrowser(t, { [HOST]: proxyTo(port) });
  await context.addInitScript(`localStorage.setItem('parley.session', 'in')`);
  const { cookie } = await client.signUp();
  const [name = '', value = ''] = cookie.split(/=(.*)/);
  await context.addCookies([{ name, value, url: HOME, httpOnly: true, secure: true, sameSite: 'Strict' }]);
  const { complaints, look, page } = await startWalk(t, context, `${HOME}/plan`);
  await page.getByText('To change yours, write to').waitFor();
  t.equal(await page.getByRole('button', { name: /^Change to/ }).count(), 0);
  await look(t, 'plan-managed');
  await page.goto(`${HOME}/usage`);
  await page.getByText('Nothing used yet').waitFor();
  await page.getByText('No requests yet').waitFor();
  await look(t, 'usage-empty');
  await page.goto(`${HOME}/chat`);
  await page.getByText('No language model is connected here').waitFor();
  await page.getByRole('button', { name: 'How do I create an API key?' }).click();
  await page.locator('[role=log][aria-busy=false]').getByRole('article').nth(1).waitFor();
  await page.waitForURL('**/chat/*');
  await look(t, 'chat-builtin');
  t.same(complaints, [], 'nothing in the console');
});
