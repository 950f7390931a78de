// The dashboard from signing up to signing out, in a real browser under its strict content security policy.
import { existsSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { sql } from 'drizzle-orm';
import type { Request } from 'playwright-core';
import t from 'tap';
import { projectRoot } from '../../src/project.ts';
import { clipboardText, cookieHeader, noBrowser, proxyTo, startBrowser } from '../support/browser.ts';
import { startWalk } from '../support/dashboard-walk.ts';
import { startTestService } from '../support/service.ts';

const HOST = 'parley.test';
const HOME = `https://${HOST}`;
const EMAIL = 'ada@example.com';
const PASSWORD = 'correct horse battery';
const RAW_KEY = /^parley_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/;
const notBuilt =
  !existsSync(new URL('dist/dashboard/index.html', projectRoot)) && 'the dashboard is not built: make test';

t.setTimeout(1_800_000);

t.test('the dashboard works, from signing up to signing out', { skip: noBrowser || notBuilt }, async (t) => {
  const { client, database, port } = await startTestService(t, 'postgres', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
    OPERATOR_CONTACT: 'ops@example.com',
  });
  const service = proxyTo(port);
  /** How the proxy between the browser and the service handles key requests: it passes, holds, or fails them. */
  let proxy: 'passes' | 'holds' | 'breaks' = 'passes';
  const between: RequestListener = (request, response) => {
    if (proxy === 'passes' || !request.url?.startsWith('/api/v1/keys')) return service(request, response);
    if (proxy === 'breaks')
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
  };
  const { context } = await startBrowser(t, { [HOST]: between });
  await context.grantPermissions(['clipboard-write'], { origin: HOME });
  const { complaints, expectRefusals, fitsBetween, hosts, look, page } = await startWalk(
    t,
    context,
    `${HOME}/`,
  );
  page.setDefaultTimeout(120_000);

  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const dialog = page.getByRole('dialog');
  const heading = (name: string) => page.getByRole('heading', { level: 1, name });
  const clipboard = () => clipboardText(context, page);
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  const chat = (key: string) => client.post('/chat', { message: 'How do I create a key?' }, { key });

  await t.test('signing up: new visitors start there, and the form shows errors', async (t) => {
    await heading('Create an account').waitFor();
    t.equal(new URL(page.url()).pathname, '/sign-up');
    await look(t, 'sign-up');
    t.equal(await page.evaluate('document.activeElement.name'), 'email');
    for (const [label, autocomplete] of [
      ['Email address', 'username'],
      ['Password', 'new-password'],
    ] as const)
      t.equal(await page.getByLabel(label, { exact: true }).getAttribute('autocomplete'), autocomplete);
    await client.signUp('taken@example.com');
    await page.getByLabel('Email address').fill('taken@example.com');
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    expectRefusals(1);
    await button('Sign up').click();
    await page.getByRole('alert').waitFor();
    t.match(
      await page.getByRole('alert').textContent(),
      /An account with this email address already exists.*Request ID [0-9a-f-]{36}/,
    );
    await look(t, 'sign-up-taken');
    await page.getByLabel('Email address').fill(EMAIL);
    await page.getByLabel('Email address').press('Enter');
    await heading('Your API').waitFor();
    t.equal(await page.title(), 'Your API · Parley');
  });

  let first = '';

  await t.test('a first key is created, shown once, not lost by accident, and valid', async (t) => {
    await page.getByRole('heading', { name: 'Create your first key' }).waitFor();
    await look(t, 'your-api-empty');
    await page.getByRole('link', { name: 'Settings' }).click();
    await heading('Settings').waitFor();
    await page.getByRole('link', { name: 'Your API' }).click();
    await button('Create key').click();
    await page.getByLabel('Name').fill('Website');
    t.ok(
      await page.getByLabel('models').isChecked(),
      'the models scope is checked, because clients list the models first',
    );
    await page.getByLabel('usage').check();
    await look(t, 'create');
    await page.emulateMedia({ forcedColors: 'active' });
    const colorOf = (name: string) =>
      page
        .getByLabel(name)
        .evaluate((box) => box.ownerDocument.defaultView?.getComputedStyle(box).backgroundColor);
    t.not(await colorOf('usage'), await colorOf('images'), 'the selection is visible in forced colors');
    await page.emulateMedia({ forcedColors: 'none' });
    await page.getByText('Expiry and allowed origins').click();
    await page.getByLabel('Add an origin').fill('http://localhost:5173');
    await look(t, 'create-more');
    await button('Add').click();
    await dialog.getByText('is not an https origin').waitFor();
    t.equal(await button('Remove http://localhost:5173').count(), 0, 'an invalid origin is not added');
    t.equal(await dialog.locator('code', { hasText: 'server.proxy' }).count(), 1, 'code is shown as code');
    t.equal(
      await dialog.getByRole('link', { name: '/docs/guides/browser-keys' }).getAttribute('href'),
      '/docs/guides/browser-keys#develop-on-localhost-with-a-browser-key',
    );
    await look(t, 'create-origin-refused');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('is not an https origin').waitFor();
    t.equal(await dialog.getByText('Copy the key now').count(), 0, 'the typed origin is not dropped');
    // A valid origin is added without the Add button.
    await page.getByLabel('Add an origin').fill('https://App.example.com:443');
    await dialog.getByRole('button', { name: 'Create key' }).click();

    await dialog.getByText('Copy the key now').waitFor();
    first = (await dialog.locator('code').first().textContent()) ?? '';
    t.match(first, RAW_KEY);
    await look(t, 'raw-key');
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    t.equal(await dialog.count(), 1, 'neither Esc nor a click outside closes the dialog');
    await page.goBack();
    await page.waitForURL(`${HOME}/settings`);
    t.equal(await dialog.count(), 1, 'going back does not close the dialog');
    const asked = new Promise<string>((resolve) => {
      page.once('dialog', (question) => question.dismiss().then(() => resolve(question.type())));
    });
    page.evaluate('location.reload()').catch(() => {});
    t.equal(await asked, 'beforeunload', 'leaving the page asks for confirmation');
    await button('Done').click();
    await dialog.getByText('Close without the key?').waitFor();
    await look(t, 'raw-key-not-copied');
    await dialog.getByLabel('Show the key in the example').check();
    t.match(await dialog.getByLabel('curl example', { exact: true }).textContent(), first);
    await button('Copy curl example').click();
    const curl = await clipboard();
    t.match(curl, `curl ${HOME}/api/v1/chat`);
    t.match(curl, first);
    await dialog.getByRole('tab', { name: 'JavaScript' }).click();
    await look(t, 'raw-key-javascript');
    await button('Copy key').first().click();
    t.equal(await clipboard(), first);
    await button('Done').click();
    await dialog.waitFor({ state: 'detached' });
    t.notMatch(await page.content(), first, 'the page no longer contains the key');
    t.equal((await chat(first)).status, 200);
  });

  await t.test('the list shows the key, and a dialog edits its origins', async (t) => {
    await page.goto(`${HOME}/your-api`);
    await page.getByText('1 of 5 keys').waitFor();
    await look(t, 'your-api-one');
    await button('Edit origins for Website').click();
    await dialog.getByText('1 of 10').waitFor();
    t.equal(await dialog.getByText('https://app.example.com', { exact: true }).count(), 1);
    await page.getByLabel('Add an origin').fill('https://*.example.com');
    expectRefusals(1);
    await page.getByLabel('Add an origin').press('Enter');
    await dialog.getByText('Wildcards are not allowed').waitFor();
    await look(t, 'origins-refused');
    for (let n = 2; n <= 10; n += 1) {
      await page.getByLabel('Add an origin').fill(`https://app-${n}.example.com`);
      await page.getByLabel('Add an origin').press('Enter');
      await dialog.getByText(`${n} of 10`).waitFor();
    }
    t.ok(await page.getByLabel('Add an origin').isDisabled());
    await look(t, 'origins-full');
    for (let n = 10; n >= 1; n -= 1) {
      const name = n === 1 ? 'app' : `app-${n}`;
      await button(`Remove https://${name}.example.com`).click();
      await dialog.getByText(`${n - 1} of 10`).waitFor();
    }
    await dialog.getByText('The list is empty').waitFor();
    t.match(await focused(), /The list is empty/, 'the focus stays on the list');
    await look(t, 'origins-empty');
    await button('Undo').click();
    await dialog.getByText('1 of 10').waitFor();
    await button('Done').click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Edit origins for Website' }).click();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.locator('button:focus', { hasText: /^Edit$/ }).waitFor();
    t.pass('the focus returns to the button');
  });

  let second = '';

  await t.test('rotating shows the new secret, and the old one works for the selected time', async (t) => {
    await button('Rotate Website').click();
    await dialog.getByLabel('after an hour').check();
    await look(t, 'rotate');
    await button('Rotate key').click();
    await dialog.getByText(/The old secret works until .*\d\d:\d\d \(your time\)/).waitFor();
    second = (await dialog.locator('code').first().textContent()) ?? '';
    t.match(second, RAW_KEY);
    t.not(second, first);
    await look(t, 'rotated');
    await button('Copy key').first().click();
    await button('Done').click();
    await dialog.waitFor({ state: 'detached' });
    t.same([(await chat(first)).status, (await chat(second)).status], [200, 200]);
  });

  await t.test('with 5 of 5 keys, no more can be created', async (t) => {
    const cookie = await cookieHeader(context);
    const expires_at = new Date(Date.now() + 3 * 86_400_000).toISOString();
    const more = [
      { name: 'Nightly report', scopes: ['usage'], expires_at },
      { name: 'A script with a long name that somebody typed in one afternoon', scopes: ['chat', 'search'] },
      {
        name: 'Pictures',
        scopes: ['images', 'models'],
        allowed_origins: ['https://pictures.example.com'],
        expires_at: new Date(Date.now() + 200 * 86_400_000).toISOString(),
      },
      { name: 'Everything' },
    ];
    await database.db.execute(sql`update api_keys set created_at = created_at - interval '40 days'`);
    for (const fields of more) await client.createKey({ cookie }, fields);
    // The last use of a key may not be written yet.
    do {
      await database.db.execute(
        sql`update api_keys set last_used_at = now() - interval '35 days' where last_used_at is not null`,
      );
      await page.reload();
      await page.getByText('5 of 5 keys').waitFor();
    } while ((await page.getByText('Idle for 35 days').count()) === 0);
    t.equal(await button('Create key').getAttribute('aria-disabled'), 'true');
    await look(t, 'your-api-full');
    await fitsBetween(t, 'your-api-full');
    await button('Create key').click({ force: true });
    t.equal(await dialog.count(), 0);
    await page.getByRole('link', { name: 'Requests made with Website' }).click();
    await heading('Usage').waitFor();
    await page.reload();
    await heading('Usage').waitFor();
    await page.goBack();
    await page.getByText('5 of 5 keys').waitFor();
  });

  await t.test('revoking a key takes effect immediately', async (t) => {
    await button('Revoke Website').click();
    await dialog.getByText('This cannot be undone').waitFor();
    await look(t, 'revoke');
    await button('Revoke key').click();
    await page.getByText('4 of 5 keys').waitFor();
    for (const key of [first, second])
      t.match(await chat(key), { status: 401, body: { error: { code: 'apiKeyRevoked' } } });
    await page.locator('h1:focus', { hasText: 'Your API' }).waitFor();
    t.pass('the focus is on the heading, because the row is gone');
  });

  await t.test('the settings end sessions, list events, and change credentials', async (t) => {
    const elsewhere = await client.post('/auth/login', { email: EMAIL, password: PASSWORD });
    t.equal(elsewhere.status, 200);
    await page.getByRole('link', { name: 'Settings' }).click();
    await heading('Settings').waitFor();
    t.equal(await focused(), 'Settings');
    await button(/^Sign out .*127\.0\.0\.1$/).waitFor();
    await page.getByText('Account created').or(button('Show more')).first().waitFor();
    await look(t, 'settings');
    await button(/^Sign out .*127\.0\.0\.1$/).click();
    await dialog.getByText('will be signed out immediately').waitFor();
    await look(t, 'end-session');
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await dialog.waitFor({ state: 'detached' });
    t.equal(await button(/^Sign out .*127\.0\.0\.1$/).count(), 0);

    const oldest = page.getByText('Account created');
    const more = page.getByRole('button', { name: 'Show more', disabled: false });
    // The button may disappear between the count and the click. Then the click hits the text, which does nothing.
    while ((await oldest.count()) === 0) await oldest.or(more).first().click();

    await button('Change email address').click();
    await page.getByLabel('New email address').fill('taken@example.com');
    await page.getByLabel('Current password').fill('wrong password');
    expectRefusals(2);
    await dialog.getByRole('button', { name: 'Change email address' }).click();
    await dialog.getByText('The current password is incorrect.').waitFor();
    await page.getByLabel('Current password').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Change email address' }).click();
    await dialog.getByText('An account with this email').waitFor();
    await look(t, 'change-email');
    await page.getByLabel('New email address').fill('ada.lovelace@example.com');
    await dialog.getByRole('button', { name: 'Change email address' }).click();
    await page.getByText('sign in as ada.lovelace@example.com').waitFor();

    await button('Change password').click();
    await page.getByLabel('Current password').fill(PASSWORD);
    await page.getByLabel('New password').fill('another horse battery');
    await look(t, 'change-password');
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Password changed.').waitFor();
  });

  await t.test('loading, failing, and being offline each show a message', async (t) => {
    await page.getByRole('link', { name: 'Your API' }).click();
    await page.getByText('4 of 5 keys').waitFor();
    proxy = 'holds';
    await page.goto(`${HOME}/your-api`);
    await heading('Your API').waitFor();
    await page.getByText('Loading…').first().waitFor();
    await look(t, 'loading');
    proxy = 'breaks';
    expectRefusals(3);
    await page.goto(`${HOME}/your-api`);
    await page.getByText('unexpected response (502)').waitFor();
    await look(t, 'failing');
    proxy = 'passes';
    await button('Try again').click();
    await page.getByText('4 of 5 keys').waitFor();
    await context.setOffline(true);
    await page.getByText('You are offline').waitFor();
    await button('Revoke Pictures').click();
    expectRefusals(1);
    await button('Revoke key').click();
    await dialog.getByText('You are offline. Connect').waitFor();
    await look(t, 'offline');
    await context.setOffline(false);
    await button('Cancel').click();
    await page.getByText('You are offline').waitFor({ state: 'detached' });
  });

  await t.test('after a session ends elsewhere, signing in returns to the same page', async (t) => {
    await page.getByRole('link', { name: 'Your API' }).click();
    await page.getByText('4 of 5 keys').waitFor();
    const cookie = await cookieHeader(context);
    await client.post('/auth/logout', undefined, { cookie });
    // Up to one for each query of the page. The number of simultaneous queries does not matter here.
    expectRefusals(4);
    const asked: Request[] = [];
    const remember = (request: Request) => asked.push(request);
    page.on('request', remember);
    await page.getByRole('link', { name: 'Settings' }).click();
    await heading('Sign in').waitFor();
    await page.getByText('Your session has ended').waitFor();
    page.off('request', remember);
    await Promise.all(asked.map((request) => request.response()));
    expectRefusals(0);
    await look(t, 'sign-in-ended');
    await page.getByLabel('Email address').fill('ada.lovelace@example.com');
    await page.getByLabel('Password', { exact: true }).fill('wrong password');
    expectRefusals(1);
    await button('Sign in').click();
    await page.getByText('The email address or password is incorrect.').waitFor();
    await look(t, 'sign-in-wrong');
    await page.getByLabel('Password', { exact: true }).fill('another horse battery');
    await button('Sign in').click();
    await heading('Settings').waitFor();
  });

  await t.test('signing out leads to sign-in, and deletion requires the password', async (t) => {
    await page.locator('a[href="/docs/guides"]', { hasText: /^Docs$/ }).waitFor();
    await button('Sign out').first().click();
    await heading('Sign in').waitFor();
    t.equal(page.url(), `${HOME}/sign-in`);
    await look(t, 'sign-in');
    await page.goto(`${HOME}/settings`);
    await page.getByLabel('Email address').fill('ada.lovelace@example.com');
    await page.getByLabel('Password', { exact: true }).fill('another horse battery');
    await page.getByLabel('Password', { exact: true }).press('Enter');
    await heading('Settings').waitFor();
    await button('Delete account').click();
    t.ok(await dialog.getByRole('button', { name: 'Delete account' }).isDisabled());
    await page.getByLabel('To confirm, type').fill('ada.lovelace@example.com');
    const password = page.getByLabel('Current password');
    await password.fill('not the password');
    expectRefusals(1);
    await dialog.getByRole('button', { name: 'Delete account' }).click();
    await dialog.getByText('The current password is incorrect.').waitFor();
    t.equal(await password.getAttribute('aria-invalid'), 'true', 'the invalid field is marked');
    t.equal(
      await page.evaluate('document.activeElement.autocomplete'),
      'current-password',
      'the invalid field has the focus',
    );
    await password.fill('another horse battery');
    await look(t, 'delete-account');
    await dialog.getByRole('button', { name: 'Delete account' }).click();
    await page.getByText('Your account has been deleted.').waitFor();
    await look(t, 'sign-in-deleted');
    const credentials = { email: 'ada.lovelace@example.com', password: 'another horse battery' };
    t.equal((await client.post('/auth/login', credentials)).status, 401);
  });

  t.same(complaints, [], 'no console errors or policy violations');
  t.same([...hosts], [HOST], 'no requests to other hosts');
});

t.test('closed sign-ups: the page shows the operator contact', { skip: noBrowser || notBuilt }, async (t) => {
  const { port } = await startTestService(t, 'postgres', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
    SIGNUPS: 'closed',
    OPERATOR_CONTACT: 'ops@example.com',
  });
  const { context } = await startBrowser(t, { [HOST]: proxyTo(port) });
  const { complaints, look, page } = await startWalk(t, context, `${HOME}/usage?key_id=1`);
  await page.getByText('Sign-ups are closed on this service.').waitFor();
  t.equal(
    await page.getByRole('link', { name: 'ops@example.com' }).getAttribute('href'),
    'mailto:ops@example.com',
  );
  await look(t, 'sign-up-closed');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  t.match(page.url(), /next=%2Fusage%3Fkey_id%3D1$/, 'the requested page is kept for after sign-in');
  t.equal(await page.getByText('Create an account').count(), 0);
  t.same(complaints, []);
});
