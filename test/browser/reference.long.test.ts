// The interactive API reference in a real browser, under its strict content security policy, offline, with a real key.
import { existsSync, readdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import t from 'tap';
import { projectRoot } from '../../src/project.ts';
import { noBrowser, proxyTo, startBrowser } from '../support/browser.ts';
import { startWalk, variants } from '../support/dashboard-walk.ts';
import { startTestService } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const HOST = 'parley.test';
const HOME = `https://${HOST}`;
const built = new URL('dist/reference/', projectRoot);
const noReference =
  noBrowser ||
  (!(existsSync(built) && readdirSync(built).some((name) => name.endsWith('.js'))) &&
    'the reference is not built: make test');

t.setTimeout(1_800_000);

/** Everything that the browser stores and the page's scripts could read later. */
const kept = `(async () => JSON.stringify({
  local: { ...localStorage },
  session: { ...sessionStorage },
  cookie: document.cookie,
  databases: await indexedDB.databases(),
  caches: await caches.keys(),
  address: location.href,
}))()`;

/** Overflowing editors and responses in a dialog. */
const widerThanItsBox = `[...document.querySelectorAll('[role=dialog] .cm-scroller')]
  .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.textContent)`;

/** Interactive elements of the page that overlap the close button of a dialog. */
const underClose = `(() => {
  const boxOf = (one) => one.getBoundingClientRect();
  const close = [...document.querySelectorAll('[role=dialog] button')].find((one) => /Close Client/.test(one.ariaLabel ?? one.textContent));
  const { bottom, left, right, top } = boxOf(close);
  return [...document.querySelectorAll('.frame :is(a, button, input)')]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }))
    .filter((one) => boxOf(one).left < right && boxOf(one).right > left && boxOf(one).top < bottom && boxOf(one).bottom > top)
    .map((one) => one.outerHTML.slice(0, 80));
})()`;

async function openOperation(page: Page, address: string) {
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
  const section = page.locator(`section[id$="${address}"]`).first();
  await section.getByRole('button', { name: 'Test Request' }).waitFor();
  return section;
}

t.test('the API reference', { skip: noReference }, async (t) => {
  const { client, port } = await startTestService(t, 'postgres', {
    PUBLIC_URL: HOME,
    TRUST_PROXY: 'loopback',
  });
  const { context } = await startBrowser(t, { [HOST]: proxyTo(port) });
  const { cookie } = await client.signUp();
  const [name = '', value = ''] = cookie.split(/=(.*)/);
  await context.addCookies([{ name, value, url: HOME, httpOnly: true, secure: true, sameSite: 'Strict' }]);
  const { id: keyId, key } = await client.createKey(
    { cookie },
    { name: 'Reader', scopes: ['search', 'usage'] },
  );
  const walk = await startWalk(t, context, `${HOME}/docs/try`, variants, (scheme) => `body.${scheme}-mode`);
  const { complaints, expectRefusals, hosts, look, page } = walk;
  page.setDefaultTimeout(120_000);
  const send = async () => {
    const [response] = await Promise.all([
      page.waitForResponse((answer) => answer.url().startsWith(`${HOME}/api/`)),
      page.getByRole('dialog').getByRole('button', { name: /^Send/ }).first().click(),
    ]);
    // Leaving before the response is shown would cancel the request.
    const shown = response.ok() ? '200 OK' : '403 Forbidden';
    await page.getByRole('dialog').getByText(shown).first().waitFor();
    return { response, headers: await response.request().allHeaders() };
  };
  await page.getByRole('heading', { level: 1, name: 'Parley API' }).waitFor();

  await t.test('the reference lists every operation and is accessible', async (t) => {
    const { body: document } = await client.get('//openapi.json');
    for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item as object)))
      t.ok(
        (await page.locator(`a[href$="/${operation.operationId}"]`).count()) > 0,
        `${operation.operationId} is in the table of contents`,
      );
    await walk.lookOnce(t, 'reference');
    await look(t, 'reference-operation', await openOperation(page, 'tag/keys/createKey'), true);
  });

  await t.test('the search shortcut focuses the only search field, that of the documentation', async (t) => {
    const field = page.getByRole('searchbox');
    await page.keyboard.press('Control+k');
    t.equal(await page.evaluate('document.activeElement.name'), 'q');
    t.equal(await page.getByRole('dialog').count(), 0, 'the renderer opens no search dialog');
    await field.fill('revoke');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${HOME}/docs/search?q=revoke`);
    await page.getByRole('link', { name: 'Revoke a key', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Parley API' }).waitFor();
  });

  await t.test('samples are in curl, JavaScript, and Python, and the selection is stored', async (t) => {
    const section = await openOperation(page, 'tag/search/search');
    await section.getByText('curl -sS').waitFor();
    for (const [choice, text] of [
      ['JavaScript', "await fetch('https://parley.test/api/v1/search'"],
      ['Python', 'urllib.request.Request('],
      ['curl', 'curl -sS https://parley.test/api/v1/search'],
    ] as const) {
      await section.getByRole('button', { name: /^(curl|JavaScript|Python)$/ }).click();
      await page.getByRole('option', { name: choice }).click();
      await section.getByText(text).first().waitFor();
      t.pass(`${choice}: ${text}`);
      await eventually('the selection is stored for the guides', async () => {
        const known = await page.evaluate(`localStorage.getItem('parley.samples')`);
        return known === choice.toLowerCase();
      });
    }
  });

  await t.test('samples use the language that the reader has selected in a guide', async (t) => {
    await page.goto(`${HOME}/docs/guides/authentication`);
    await page.getByRole('tab', { name: 'Python' }).first().click();
    await page.goto(`${HOME}/docs/try`);
    const section = await openOperation(page, 'tag/search/search');
    await section.getByText('urllib.request.Request(').first().waitFor();
    t.pass('Python');
  });

  await t.test('a request without a key uses the session of a signed-in reader', async (t) => {
    const section = await openOperation(page, 'tag/models/listModels');
    await section.getByRole('button', { name: 'Test Request' }).click();
    const { headers, response } = await send();
    t.equal(response.status(), 200);
    t.equal(headers.authorization, undefined);
    t.match(headers.cookie, cookie);
    await page.keyboard.press('Escape');
  });

  await t.test('a request with a key sends no cookie, and the browser does not store the key', async (t) => {
    await page.evaluate(`location.hash = 'description/introduction'`);
    await page.getByLabel('Bearer Token').first().fill(key);
    const section = await openOperation(page, 'tag/search/search');
    await section.getByRole('button', { name: 'Test Request' }).click();
    const { headers, response } = await send();
    t.equal(response.status(), 200);
    t.equal(headers.authorization, `Bearer ${key}`);
    t.equal(headers.cookie, undefined, 'no cookie, though the reader is signed in');
    t.equal(headers['idempotency-key'], undefined, 'optional headers are left out');
    await page.getByRole('dialog').getByText('Create an API key').first().waitFor();
    await look(t, 'reference-answer');
    t.notMatch(await page.evaluate(kept), key.slice(-20), 'the key is not stored');
    await page.keyboard.press('Escape');
    t.match(
      (await client.get('/usage', { cookie })).body,
      { used: { search: 1 } },
      'the request reached the service',
    );
  });

  await t.test('an error response links to its error page', async (t) => {
    const section = await openOperation(page, 'tag/models/listModels');
    await section.getByRole('button', { name: 'Test Request' }).click();
    expectRefusals(1);
    const { response } = await send();
    t.equal(response.status(), 403);
    const { error } = await response.json();
    t.match(error, { code: 'insufficientScope', docs: `${HOME}/docs/errors/insufficientScope` });
    await page.keyboard.press('Escape');
  });

  await t.test(
    'on a phone, an error is readable without horizontal scrolling, and the dialog can be closed',
    async (t) => {
      await page.setViewportSize({ width: 390, height: 844 });
      const section = await openOperation(page, 'tag/models/listModels');
      await section.getByRole('button', { name: 'Test Request' }).click();
      expectRefusals(1);
      const { response } = await send();
      const { error } = await response.json();
      const dialog = page.getByRole('dialog');
      const message = dialog.locator('.cm-line', { hasText: error.message.slice(0, 20) });
      await message.scrollIntoViewIfNeeded();
      await eventually('the message wraps', async () => {
        const { width = 0, x = -1 } = (await message.boundingBox()) ?? {};
        return x >= 0 && x + width <= 390;
      });
      t.same(await page.evaluate(widerThanItsBox), [], 'the lines of the response fit');
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page fits');
      t.same(await page.evaluate(underClose), [], 'the close button covers no part of the header');
      await dialog.getByRole('button', { name: 'Close Client' }).click();
      await dialog.waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: /^Theme/ }).waitFor();
      await page.setViewportSize({ width: 1280, height: 800 });
    },
  );

  await t.test('an operation without key access uses the session, and sends no key', async (t) => {
    const section = await openOperation(page, 'tag/keys/listKeys');
    await section.getByRole('button', { name: 'Test Request' }).click();
    const { headers, response } = await send();
    t.equal(response.status(), 200);
    t.equal(headers.authorization, undefined);
    t.match(headers.cookie, cookie);
    await page.getByRole('dialog').getByText(keyId).first().waitFor();
    await page.keyboard.press('Escape');
  });

  await t.test('the key is gone after a reload', async (t) => {
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Parley API' }).waitFor();
    t.equal(await page.getByLabel('Bearer Token').first().inputValue(), '');
    t.notMatch(await page.evaluate(kept), /parley_\w{8}_\w{49}/);
  });

  t.same([...hosts], [HOST], 'no requests to other hosts');
  t.same(complaints, [], 'no console errors or policy violations');
});
