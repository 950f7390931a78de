// The plain pages under their strict policy, as a browser shows them.
import t from 'tap';
import { clipboardText, noBrowser, proxyTo, startBrowser } from '../support/browser.ts';
import { startTestService } from '../support/service.ts';

t.test('the pages load what they need, and let nothing else in', { skip: noBrowser }, async (t) => {
  const { port } = await startTestService(t, 'postgres', {
    PUBLIC_URL: 'https://parley.test',
    TRUST_PROXY: 'loopback',
  });
  const { context, open } = await startBrowser(t, { 'parley.test': proxyTo(port) });
  for (const path of ['/docs/guides', '/docs/guides/keys', '/docs/errors/quotaExceeded']) {
    const { complaints, page } = await open(`https://parley.test${path}`);
    t.equal(await page.evaluate('document.styleSheets[0].cssRules.length > 10'), true, `${path}: styled`);
    t.same(complaints, [], `${path}: nothing is missed`);
    const ran = await page.evaluate(`(() => {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.head.append(script);
      return window.ran === true;
    })()`);
    t.equal(ran, false, `${path}: no other script runs`);
    t.match(complaints, [/Content Security Policy/], `${path}: the browser says why`);
    await page.close();
  }

  const { complaints, page: searching } = await open('https://parley.test/docs/guides');
  await searching.getByRole('searchbox').fill('revoke a key');
  await searching.getByRole('searchbox').press('Enter');
  await searching.getByRole('status').filter({ hasText: 'for “revoke a key”' }).waitFor();
  t.equal(await searching.getByRole('searchbox').inputValue(), 'revoke a key', 'what was asked stays');
  await searching.locator('ol.results a').first().click();
  await searching.waitForURL(/\/docs\/(?:guides|api)\//);
  t.same(complaints, [], 'the policy lets the form go');

  await context.grantPermissions(['clipboard-write'], { origin: 'https://parley.test' });
  const { page } = await open('https://parley.test/docs/guides/authentication');
  const block = page.locator('pre').first();
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  t.equal(await clipboardText(context), await block.textContent(), 'code is copied as it stands');
});
