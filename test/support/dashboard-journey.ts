/**
 * The main walk through the dashboard, from sign-up to sign-out, in one variant. A page of another https origin in the
 * same browser uses the key. Nothing between that page and the service is mocked.
 */
import type { Test } from 'tap';
import { clipboardText, cookieHeader, proxyTo, site, startBrowser } from './browser.ts';
import { fewChats, HOME, HOST } from './dashboard-pages.ts';
import { type BrowserName, otherBrowser, startWalk, type Variant } from './dashboard-walk.ts';
import { startTestService } from './service.ts';
import { MODEL, startUpstream } from './upstream/client.ts';

const APP = 'https://app.test';
const EMAIL = 'ada@example.com';
const PASSWORD = 'correct horse battery';
const RAW_KEY = /^parley_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/;
/** The chat quota per day before and after the plan change. */
const FREE = 5;
const PLUS = 10;
/** A key change takes effect within a second, but a busy machine may take longer. */
const HEARD_MS = 5000;

/** The errors of Chromium, Firefox, and WebKit when CORS blocks a request. */
const NOT_FETCHED = /^TypeError: (Failed to fetch|NetworkError|Load failed)/;

/** Walks through the whole dashboard. The names of the states start with `walk-`. */
export async function walkThrough(
  t: Test,
  variant: Variant,
  browser: BrowserName = 'chromium',
): Promise<void> {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { client, port } = await startTestService(t, 'postgres', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
    BILLING: 'open',
    CHAT_URL: upstream.url,
    CHAT_MODEL: MODEL,
    OPERATOR_CONTACT: 'ops@example.com',
    PLANS_FILE: fewChats(t, FREE, PLUS),
  });
  const sites = { [HOST]: proxyTo(port), 'app.test': site() };
  const { context, open } = await startBrowser(t, sites, otherBrowser(browser, variant));
  if (browser === 'chromium') await context.grantPermissions(['clipboard-write'], { origin: HOME });
  const { complaints, expectRefusals, hosts, look, page } = await startWalk(t, context, `${HOME}/`, [
    variant,
  ]);
  page.setDefaultTimeout(120_000);

  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const dialog = page.getByRole('dialog');
  const text = (words: string | RegExp) => page.getByText(words);
  const heading = (name: string) => page.getByRole('heading', { level: 1, name });
  const openPage = async (name: string) => {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
    // A chat's heading is its title.
    if (name !== 'Chat') await heading(name).waitFor();
  };
  /** Copies the key that is shown, closes the dialog, and returns the key. */
  const takeKey = async (t: Test): Promise<string> => {
    await button('Copy key').first().click();
    const key = await clipboardText(context, page);
    t.match(key, RAW_KEY);
    await button('Done').click();
    await dialog.waitFor({ state: 'detached' });
    return key;
  };

  const { page: app } = await open(APP);
  // Browsers render a background page only once a second.
  await page.bringToFront();
  /** Sends a chat from a script of the other origin. Returns the status and body, or the error. */
  const askFromApp = (key: string) =>
    app.evaluate(
      ({ key, url }) =>
        fetch(url, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ message: 'Hello from my website' }),
        }).then(
          async (response) => `${response.status} ${await response.text()}`,
          (error: unknown) => String(error),
        ),
      { key, url: `${HOME}/api/v1/chat` },
    );
  const heard = async (key: string, answer: RegExp): Promise<string> => {
    for (const end = Date.now() + HEARD_MS; ; ) {
      const got = await askFromApp(key);
      if (answer.test(got) || Date.now() > end) return got;
    }
  };
  const statusOf = async (key: string) => (await client.post('/chat', { message: 'Hello' }, { key })).status;

  let key = '';
  await t.test('the owner signs up and creates a key', async (t) => {
    await heading('Create an account').waitFor();
    await look(t, 'walk-01-sign-up');
    await page.getByLabel('Email address').fill(EMAIL);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await button('Sign up').click();
    await heading('Your API').waitFor();
    await look(t, 'walk-02-no-key');
    await button('Create key').click();
    await page.getByLabel('Name').fill('Website');
    await look(t, 'walk-03-create');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Copy the key now').waitFor();
    await look(t, 'walk-04-raw-key');
    key = await takeKey(t);
  });

  await t.test('a page of another origin can use the key once the origin is allowed', async (t) => {
    t.match(await askFromApp(key), NOT_FETCHED, 'the origin is not allowed yet');
    await button('Edit origins for Website').click();
    await page.getByLabel('Add an origin').fill(APP);
    await page.getByLabel('Add an origin').press('Enter');
    await dialog.getByText('1 of 10').waitFor();
    await look(t, 'walk-05-origins');
    await button('Done').click();
    t.match(await heard(key, /^200/), /^200 .*You said: Hello from my website/);
  });

  await t.test('the request appears in the usage', async (t) => {
    await openPage('Usage');
    await text(`${FREE - 1} of ${FREE} left`).waitFor();
    await page.getByRole('img', { name: /^Bar chart: 1 chat reply over the last 30 days/ }).waitFor();
    await button(/^Details for POST \/api\/v1\/chat/).waitFor();
    await look(t, 'walk-06-usage');
    await button(/^Details for POST/).click();
    await dialog.getByText('Website (parley_').waitFor();
    await look(t, 'walk-07-request');
    await page.keyboard.press('Escape');
  });

  await t.test('removing the origin blocks the page again', async (t) => {
    await openPage('Your API');
    await button('Edit origins for Website').click();
    await button(`Remove ${APP}`).click();
    await dialog.getByText('The list is empty').waitFor();
    await button('Done').click();
    t.match(await heard(key, NOT_FETCHED), NOT_FETCHED);
  });

  await t.test('the owner rotates the key, then revokes it', async (t) => {
    await button('Rotate Website').click();
    await look(t, 'walk-08-rotate');
    t.ok(await dialog.getByLabel('after a day').isChecked());
    await dialog.getByLabel('immediately').check();
    await button('Rotate key').click();
    await dialog.getByText('The old secret has stopped working.').waitFor();
    const next = await takeKey(t);
    t.same([await statusOf(key), await statusOf(next)], [401, 200]);
    await button('Revoke Website').click();
    await look(t, 'walk-09-revoke');
    await button('Revoke key').click();
    await page.getByRole('heading', { name: 'Create a key' }).waitFor();
    await text('Key “Website” was revoked.').waitFor();
    t.same([await statusOf(key), await statusOf(next)], [401, 401]);
  });

  await t.test('the owner changes the plan', async (t) => {
    await openPage('Plan');
    await button('Change to Plus').waitFor();
    await look(t, 'walk-10-plan');
    await page.getByText('Yearly', { exact: true }).click();
    await button('Change to Plus').click();
    await dialog.getByText('$99.60 a year').first().waitFor();
    await look(t, 'walk-11-change');
    await button('Change to Plus for $99.60 a year').click();
    await text('You are now on the Plus plan, at $99.60 a year.').waitFor();
    await look(t, 'walk-12-changed');
  });

  await t.test('the owner chats and stops a reply', async (t) => {
    await upstream.configure({ chunks: 400, chunkSize: 6, chunkIntervalMs: 25 });
    await openPage('Chat');
    await text(`${PLUS - 2} of ${PLUS} replies left today`).waitFor();
    await look(t, 'walk-13-chat');
    await page.getByLabel('Your message').fill('Tell me everything.');
    await page.getByLabel('Your message').press('Enter');
    await page.getByRole('log').getByText('0xxx').waitFor();
    await look(t, 'walk-14-streaming');
    await button('Stop').click();
    await text('You stopped the reply here.').waitFor();
    await look(t, 'walk-15-stopped');
    await text(`${PLUS - 3} of ${PLUS} replies left today`).waitFor();
    await upstream.configure({});
  });

  await t.test('the owner uses up the daily quota', async (t) => {
    const cookie = await cookieHeader(context);
    await button('New chat').click();
    await heading('New chat').waitFor();
    await page.getByLabel('Your message').fill('One more?');
    // Last, so that the page does not know that the quota is spent before it sends the message.
    const messages = [{ role: 'user', content: 'Hi' }];
    t.match(await client.post('/chat/completions', { messages, n: PLUS - 3 }, { cookie }), { status: 200 });
    expectRefusals(1);
    await page.getByLabel('Your message').press('Enter');
    await text("Today's remaining quota does not cover this message").waitFor();
    await text("Today's replies are used up").waitFor();
    await look(t, 'walk-16-spent');
    await openPage('Usage');
    await page.getByText(`${PLUS} used`, { exact: true }).waitFor();
    await text(`None of ${PLUS} left`).waitFor();
    await text('429 quotaExceeded').or(button('Refresh')).first().waitFor();
    // Refusals are recorded a moment later.
    while (!(await text('429 quotaExceeded').isVisible())) {
      await button('Refresh').click();
      await page.waitForTimeout(250);
    }
    await look(t, 'walk-17-usage-spent', page.getByRole('heading', { name: 'Requests', exact: true }));
  });

  await t.test('the owner signs out', async (t) => {
    await openPage('Settings');
    await text('Plan changed').waitFor();
    await look(t, 'walk-18-settings');
    await button('Sign out').first().click();
    await heading('Sign in').waitFor();
    await look(t, 'walk-19-sign-in');
    expectRefusals(1);
    const nowhere = await page.goto(`${HOME}/nowhere`);
    t.equal(nowhere?.status(), 404);
    await heading('Page not found').waitFor();
    await look(t, 'walk-20-nowhere');
  });

  t.same(complaints, [], 'the console shows no errors and no policy violations');
  t.same([...hosts], [HOST], 'the page sends no requests to other hosts');
}
