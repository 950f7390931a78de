// The documentation pages in a real browser, under their strict content security policy.
import t from 'tap';
import { clipboardText, noBrowser, proxyTo, startBrowser } from '../support/browser.ts';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { startTestService } from '../support/service.ts';

t.test('the pages load all of their resources, and block other scripts', { skip: noBrowser }, async (t) => {
  const { port } = await startTestService(t, 'postgres', {
    PUBLIC_URL: 'https://parley.test',
    TRUST_PROXY: 'loopback',
  });
  const { context, open } = await startBrowser(t, { 'parley.test': proxyTo(port) });
  for (const path of ['/docs/guides', '/docs/guides/keys', '/docs/errors/quotaExceeded']) {
    const { complaints, page } = await open(`https://parley.test${path}`);
    t.equal(
      await page.evaluate('[...document.styleSheets].every(({ cssRules }) => cssRules.length > 5)'),
      true,
      `${path}: styled`,
    );
    t.same(complaints, [], `${path}: no console errors`);
    const ran = await page.evaluate(`(() => {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.head.append(script);
      return window.ran === true;
    })()`);
    t.equal(ran, false, `${path}: no other script runs`);
    t.match(complaints, [/Content Security Policy/], `${path}: the browser reports the violation`);
    await page.close();
  }

  const { complaints, page: searching } = await open('https://parley.test/docs/guides');
  await searching.getByRole('searchbox').fill('revoke a key');
  await searching.getByRole('searchbox').press('Enter');
  await searching.getByRole('status').filter({ hasText: 'for “revoke a key”' }).waitFor();
  t.equal(
    await searching.getByRole('searchbox').inputValue(),
    'revoke a key',
    'the query stays in the field',
  );
  await searching.locator('ol.results a').first().click();
  await searching.waitForURL(/\/docs\/(?:guides|api)\//);
  t.same(complaints, [], 'the policy allows the form');

  const focused = 'document.activeElement.name';
  const field = searching.getByRole('searchbox');
  await searching.goto('https://parley.test/docs/search');
  t.equal(await searching.evaluate(focused), 'q', 'the search field has the focus');
  await searching.goto('https://parley.test/docs/guides/several-upstreams');
  t.ok(
    await searching.getByRole('navigation', { name: 'On this page' }).isVisible(),
    'the headings of the page are listed',
  );
  const current = searching.getByRole('link', { name: 'Several upstreams', exact: true });
  t.equal(await current.getAttribute('aria-current'), 'page');
  const { y = 9999 } = (await current.boundingBox()) ?? {};
  t.ok(y < 720, 'the list is scrolled to the current page');
  await searching.setViewportSize({ width: 390, height: 844 });
  t.notOk(await current.isVisible(), 'a phone shows no list beside the page');
  for (const path of ['/docs', '/docs/guides/several-upstreams', '/docs/errors/quotaExceeded'])
    for (const width of [1280, 390]) {
      await searching.setViewportSize({ width, height: 844 });
      await searching.goto(`https://parley.test${path}`);
      for (const key of ['/', 'Control+k']) {
        await searching.keyboard.press(key);
        t.equal(
          await searching.evaluate(focused),
          'q',
          `${path}, ${width} px, ${key}: the header field has the focus`,
        );
        const { width: room = 0 } = (await field.boundingBox()) ?? {};
        t.ok(room > 200, `the field is ${room} px wide`);
        await searching.keyboard.type('a/b');
        t.equal(await field.inputValue(), 'a/b', 'typing in the field triggers no shortcut');
        await field.fill('');
        await searching.getByRole('heading', { level: 1 }).click();
      }
    }
  t.same(complaints, [], 'no console errors or policy violations');

  await context.grantPermissions(['clipboard-write'], { origin: 'https://parley.test' });
  const { page } = await open('https://parley.test/docs/guides/authentication');
  const block = page.locator('pre').first();
  await page.getByRole('button', { name: 'Copy', exact: true }).first().click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  t.equal(await clipboardText(context, page), await block.textContent(), 'code is copied unchanged');
});

t.test('the documentation and the dashboard share one theme', { skip: noDashboard }, async (t) => {
  const { complaints, page } = await startDashboard(t, '/plan');
  page.setDefaultTimeout(30_000);
  const themeButton = page.getByRole('button', { name: /^Theme/ });
  const style = (property: string, of = 'body') =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('${of}')).${property}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await themeButton.click();
  await page.getByRole('button', { name: 'Theme: Light. Change to Dark.' }).click();
  await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
  const ofDashboard = [await style('fontFamily'), await style('backgroundColor'), await style('color')];

  for (const path of ['/docs/guides/keys', '/docs', '/docs/api/chat', '/docs/errors', '/docs/try']) {
    await page.goto(HOME + path);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await page.getByRole('button', { name: 'Theme: Dark. Change to System.' }).waitFor();
    t.same(
      [await style('fontFamily', '.frame'), await style('backgroundColor'), await style('color')].map(
        (value) => value.replaceAll('"', ''),
      ),
      ofDashboard.map((value) => value.replaceAll('"', '')),
      `${path} has the font and the colors of the dashboard`,
    );
    t.equal(
      await page.evaluate(`document.fonts.ready.then(() => document.fonts.check('1em "Inter Variable"')
        && [...document.fonts].some(({ status }) => status === 'loaded'))`),
      true,
      `${path}: the font is loaded`,
    );
  }

  await page.goto(`${HOME}/docs/guides/keys`);
  await themeButton.click();
  await themeButton.click();
  await page.getByRole('button', { name: 'Theme: Light. Change to Dark.' }).waitFor();
  await page.goto(`${HOME}/plan`);
  await page.locator('html[data-mantine-color-scheme=light]').waitFor();
  await page.getByRole('button', { name: 'Theme: Light. Change to Dark.' }).waitFor();
  t.same(complaints, [], 'no console errors or policy violations');
});

t.test('the dashboard and the documentation share one navigation', { skip: noDashboard }, async (t) => {
  const { complaints, context, page } = await startDashboard(t, '/plan', operatorEnv, signInOperator);
  page.setDefaultTimeout(30_000);
  const linksIn = (name: string) =>
    page
      .getByRole('navigation', { name, exact: true })
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => [link.textContent, link.getAttribute('href')]));
  const forOperators = page.locator('nav a[href="/operator"]');
  const outside = `[...document.querySelectorAll('nav:is([aria-label=Pages], [aria-label=Dashboard], [aria-label=Documentation]) a')]
      .filter((link) => {
        const { bottom, height, left, right, top } = link.getBoundingClientRect();
        return height < 24 || left < 0 || top < 0 || right > innerWidth || bottom > innerHeight;
      })
      .map((link) => link.textContent)`;
  const sections = [
    ['Chat', '/chat'],
    ['Your API', '/your-api'],
    ['Usage', '/usage'],
    ['Plan', '/plan'],
    ['Settings', '/settings'],
    ['Operator', '/operator'],
  ];
  const docs = [
    ['Docs', '/docs/guides'],
    ['Reference', '/docs'],
  ];
  await forOperators.waitFor();
  t.same(await linksIn('Pages'), [...sections, ...docs], 'the links in the dashboard');
  for (const [width, height] of [
    [1280, 800],
    [1000, 480],
    [360, 740],
    [320, 700],
  ] as const) {
    await page.setViewportSize({ width, height });
    for (const path of ['/plan', '/docs/guides/keys', '/docs/try']) {
      await page.goto(HOME + path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      await forOperators.waitFor();
      if (path !== '/plan') {
        t.same(await linksIn('Dashboard'), sections, `${path}: the sections of the dashboard`);
        t.same(
          (await linksIn('Documentation')).slice(0, docs.length),
          docs,
          `${path}: the sections of the documentation`,
        );
        t.notOk(await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).isVisible());
      }
      t.same(await page.evaluate(outside), [], `${path}, ${width} px: every link is on the screen`);
      t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
    }
  }

  await page.goto(`${HOME}/docs/guides/keys`);
  const usage = page.getByRole('banner').getByRole('link', { name: 'Usage', exact: true });
  const signIn = page.getByRole('banner').getByRole('link', { name: 'Sign in', exact: true });
  const other = await context.newPage();
  await other.goto(`${HOME}/docs`);
  await other.evaluate(`localStorage.setItem('parley.operator', 'false')`);
  await forOperators.waitFor({ state: 'hidden' });
  t.ok(await usage.isVisible(), 'only operators have the operator link');
  await other.evaluate(`localStorage.setItem('parley.session', 'out')`);
  await signIn.waitFor();
  t.notOk(await usage.isVisible(), 'a sign-out in another tab hides the links');
  await other.close();
  t.same(complaints, [], 'no console errors or policy violations');

  for (const javaScriptEnabled of [true, false]) {
    const signedOut = await context.browser()?.newContext({ javaScriptEnabled });
    const plain = await signedOut?.newPage();
    await plain?.goto(`${HOME}/docs/guides/keys`);
    const banner = plain?.getByRole('banner');
    t.ok(await banner?.getByRole('link', { name: 'Sign in', exact: true }).isVisible());
    t.notOk(await banner?.getByRole('link', { name: 'Usage', exact: true }).isVisible());
    await banner?.getByRole('link', { name: 'Sign in', exact: true }).click();
    await plain?.waitForURL(`${HOME}/sign-in`);
    await signedOut?.close();
  }
});

t.test('all samples use the language that the reader has selected', { skip: noDashboard }, async (t) => {
  const { complaints, context, page } = await startDashboard(t, '/docs/guides/chat');
  page.setDefaultTimeout(30_000);
  const tab = (name: string) => page.getByRole('tab', { name, exact: true }).first();
  const chosen = async () => [...new Set(await page.getByRole('tab', { selected: true }).allTextContents())];
  const panel = page.getByRole('tabpanel');

  t.same(await chosen(), ['curl'], 'curl is the default');
  await tab('curl').focus();
  await page.keyboard.press('ArrowRight');
  t.same(await chosen(), ['JavaScript'], 'the arrow key selects the next language');
  await page.keyboard.press('End');
  t.same(await chosen(), ['Python']);
  t.equal(
    await page.evaluate('document.activeElement.textContent'),
    'Python',
    'the focus follows the selection',
  );
  const count = await page.getByRole('tablist', { name: 'Language' }).count();
  t.ok(count > 5, `${count} samples`);
  t.same(
    [await panel.count(), await panel.locator('pre').count()],
    [count, count],
    'each sample shows one language',
  );
  for (const text of await panel.allTextContents()) t.match(text, 'import ');

  for (const path of ['/docs/api/chat', '/docs/guides/streaming', '/docs/guides/openai-compatible']) {
    await page.goto(HOME + path);
    t.same(await chosen(), ['Python'], path);
  }
  await page.goto(`${HOME}/docs/api/chat`);
  const dashboard = await context.newPage();
  await dashboard.goto(`${HOME}/your-api`);
  await dashboard.getByRole('tab', { name: 'Python', selected: true }).waitFor();
  await dashboard.getByRole('tab', { name: 'TypeScript SDK', exact: true }).click();
  await page.getByRole('tab', { name: 'JavaScript', selected: true }).waitFor();
  t.same(await chosen(), ['JavaScript'], 'an open page switches to the closest language');
  await tab('curl').click();
  await dashboard.getByRole('tab', { name: 'curl', selected: true }).waitFor();
  t.same(complaints, [], 'no console errors or policy violations');

  const noScript = await context.browser()?.newContext({ javaScriptEnabled: false });
  const plain = await noScript?.newPage();
  await plain?.goto(`${HOME}/docs/guides/authentication`);
  for (const language of ['curl', 'JavaScript', 'Python'])
    t.ok(
      await plain?.locator('.language', { hasText: language }).first().isVisible(),
      `${language} is visible without scripts`,
    );
  await noScript?.close();
});

t.test("samples name the reader's API key", { skip: noDashboard }, async (t) => {
  const { client, complaints, context, cookie, page } = await startDashboard(t, '/docs');
  page.setDefaultTimeout(30_000);
  await context.grantPermissions(['clipboard-write'], { origin: HOME });
  const { key_prefix } = await client.createKey({ cookie }, { name: 'Two\nlines' });
  const tab = (name: string) => page.getByRole('tab', { name, exact: true }).first();
  const sample = page.getByRole('tabpanel').first();
  for (const path of ['/docs/guides/authentication', '/docs/api/chat']) {
    await page.goto(HOME + path);
    for (const [language, sign] of [
      ['curl', '#'],
      ['JavaScript', '//'],
      ['Python', '#'],
    ] as const) {
      await tab(language).click();
      const comment = `${sign} PARLEY_KEY: ${key_prefix}…\n`;
      const text = (await sample.locator('code').textContent()) ?? '';
      t.ok(text.startsWith(comment), `${path}: ${language}`);
      await sample.getByRole('button', { name: 'Copy' }).click();
      await sample.getByRole('button', { name: 'Copied' }).waitFor();
      t.equal(
        await clipboardText(context, page),
        text.slice(comment.length),
        'the sample is copied without the comment',
      );
    }
  }
  await page.goto(`${HOME}/docs/try`);
  await page.getByText(`${key_prefix}…`).waitFor();
  await context.clearCookies();
  await page.goto(`${HOME}/docs/api/chat`);
  t.notMatch(await sample.textContent(), 'PARLEY_KEY:', 'signed-out readers see no key');
  t.same(complaints, [], 'no console errors or policy violations');
});

t.test('a page can be copied as Markdown', { skip: noDashboard }, async (t) => {
  const { client, complaints, context, expectRefusals, page, setBetween } = await startDashboard(t, '/docs');
  page.setDefaultTimeout(30_000);
  const copy = page.getByRole('button', { name: 'Copy page as Markdown' });
  const said = page.getByRole('status');
  for (const path of [
    ...['/docs', '/docs/guides', '/docs/errors', '/docs/errors/quotaExceeded'],
    ...['/docs/guides/keys', '/docs/api/chat'],
  ]) {
    await page.goto(HOME + path);
    t.equal(await said.textContent(), '', 'the status is empty before copying');
    await copy.click();
    await said.filter({ hasText: 'Copied the page as Markdown.' }).waitFor();
    const { text } = await client.get(`/${path}.md`);
    t.match(text, /^# /);
    t.equal(await clipboardText(context, page), text, path);
    t.ok(await page.getByRole('link', { name: 'View as Markdown' }).isVisible(), 'the link stays visible');
  }
  t.same(complaints, [], 'no console errors or policy violations');

  setBetween({ breaks: '/docs/api/chat.md' });
  expectRefusals(1);
  await copy.click();
  await said.filter({ hasText: 'The page could not be copied.' }).waitFor();
  t.same(complaints, [], 'no other console errors');

  await page.goto(`${HOME}/docs/search`);
  t.equal(await copy.count(), 0);
  t.match(
    (await client.get('//docs/search')).headers.get('content-security-policy'),
    /^(?!.*connect-src)/,
    'the policy of other pages allows no requests',
  );
});
