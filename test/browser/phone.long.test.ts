// The dashboard on a phone: sheets, a compact request log, and messages that are in view.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { refusals } from '../../src/database/tables.ts';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';

t.setTimeout(1_800_000);

const PHONE = { width: 360, height: 780 };
const MAX_CARD_HEIGHT = 120;
/** In px, below the top of the request log's heading. */
const MAX_FIRST_REQUEST_TOP = 300;

/**
 * Labels of buttons, tabs, links, badges, and columns that wrap, except suggestions, which are sentences, and links
 * within sentences.
 */
const wrapped = `[...document.querySelectorAll('button, [role=tab], [role=radiogroup] label, a, .mantine-Badge-root, th')]
  .filter((one) => one.checkVisibility() && !one.matches('[class*=_suggestion_]') && !one.querySelector('p, pre'))
  .filter((one) => !one.matches('a') || one.parentElement.textContent.trim() === one.textContent.trim() ||
    getComputedStyle(one).display !== 'inline')
  .filter((one) => {
    const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (texts.nextNode()) {
      range.selectNodeContents(texts.currentNode);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) return true;
    }
    return false;
  })
  .map((one) => one.textContent)`;

t.test('on a phone', { skip: noDashboard }, async (t) => {
  const dashboard = await startDashboard(
    t,
    '/your-api',
    { ...operatorEnv, BILLING: 'open', PLANS_FILE: '' },
    signInOperator,
  );
  const { accountId, button, client, complaints, cookie, database, dialog, labelsFit, look, page } =
    dashboard;
  const { email, password, text } = dashboard;
  for (const name of ['First', 'A script with a long name that somebody typed in one afternoon', 'Third'])
    await client.createKey({ cookie }, { name });
  await page.setViewportSize(PHONE);
  await page.reload();

  await t.test('a dialog is a sheet at the bottom of the screen', async (t) => {
    await button('Create key').click();
    await dialog.waitFor();
    const create = await dialog.boundingBox();
    t.equal(
      (create?.y ?? 0) + (create?.height ?? 0),
      PHONE.height,
      'the sheet ends at the bottom of the screen',
    );
    t.match(create, { x: 0, width: PHONE.width });
    t.ok((create?.y ?? 0) > 0, 'the page stays visible above the sheet');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await button('Revoke First').click();
    await dialog.waitFor();
    const confirm = await dialog.boundingBox();
    t.equal((confirm?.y ?? 0) + (confirm?.height ?? 0), PHONE.height);
    t.ok((confirm?.height ?? PHONE.height) < PHONE.height / 2, 'the sheet is no higher than its content');
    await look(t, 'phone-sheet');
    await page.setViewportSize(PHONE);
  });

  await t.test('the confirmation of a change is on the screen', async (t) => {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await button('Revoke key').click();
    await dialog.waitFor({ state: 'detached' });
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    const message = await text('Key “First” was revoked.').boundingBox();
    t.ok(
      message !== null && message.y > 0 && message.y + message.height < PHONE.height,
      `the message is at ${message?.y} px`,
    );
    await look(t, 'phone-revoked');
    await page.setViewportSize(PHONE);
    await button('Close').click();
    t.equal(await text('Key “First” was revoked.').count(), 0);
  });

  await t.test(`a row of the request log is at most ${MAX_CARD_HEIGHT} px high`, async (t) => {
    const { body } = await client.get('/keys', { cookie });
    const rows = [
      ['POST /api/v1/images/generations', 'images', 4, 'final', 200, null, 'gpt-image-1', null, '{}'],
      [
        ...(['POST /api/v1/chat/completions', 'chat', 8, 'refunded', 502, 'upstreamError'] as const),
        ...(['meta-llama/Llama-3.3-70B-Instruct-Turbo', 12_345, '{"first_output_ms":310}'] as const),
      ],
      ['POST /api/v1/search', 'search', 1, 'final', 200, null, null, null, '{}'],
    ] as const;
    for (const [endpoint, meter, units, state, status, code, model, tokens, facts] of rows)
      await database.db.execute(sql`
        insert into requests (account_id, day, id, key_id, endpoint, meter, units, state, process, admitted_at,
                              settled_at, status, code, latency_ms, model, input_tokens, output_tokens, details)
        values (${accountId}::uuid, ledger_day(ledger_now()), gen_random_uuid(), ${body.data[1].id}::uuid, ${endpoint},
                ${meter}, ${units}, ${state}, gen_random_uuid(), now(), now(), ${status}, ${code},
                1234, ${model}, ${tokens}, ${tokens}, ${facts}::jsonb)`);
    await database.db.insert(refusals).values({
      ...{ accountId, minute: new Date(), keyId: body.data[1].id },
      ...{ code: 'idempotencyInProgress', status: 409, count: 3 },
    });
    const details = button(/^Details (for|zu) /);
    const cards = page.getByRole('listitem').filter({ has: details });
    for (const language of ['de', 'en']) {
      await page.evaluate(`localStorage.setItem('parley.language', '${language}')`);
      await page.goto(`${HOME}/usage`);
      await details.nth(rows.length).waitFor();
      t.equal(await cards.count(), rows.length + 1);
      for (const card of await cards.all()) {
        const box = await card.boundingBox();
        t.ok((box?.height ?? 1000) <= MAX_CARD_HEIGHT, `${box?.height} px: ${await card.textContent()}`);
      }
      for (const width of [320, PHONE.width]) {
        await page.setViewportSize({ ...PHONE, width });
        t.same(await page.evaluate(wrapped), [], `${language}, ${width} px`);
      }
    }
    const chat = cards.filter({ hasText: 'completions' });
    for (const fact of ['meta-llama/Llama-3.3-70B', '24,690 tokens', 'first output after 310 ms'])
      await chat.getByText(fact).waitFor();
    await look(t, 'phone-log', page.getByRole('heading', { name: 'Requests', exact: true }));
    await page.setViewportSize(PHONE);
    await button(/^Details for POST .*completions/)
      .last()
      .click();
    await dialog.getByText(/^(8 replies \(refunded\)|1 reply \(charged\))$/).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  await t.test(
    'the filters of the request log are in a sheet, and the first request is in view',
    async (t) => {
      const filters = button(/^(Filters|Filter)( \(\d\))?$/);
      const first = button(/^Details (for|zu) /).first();
      for (const language of ['en', 'de']) {
        await page.evaluate(`localStorage.setItem('parley.language', '${language}')`);
        await page.goto(`${HOME}/usage`);
        await first.waitFor();
        const top = (await page.locator('#log').boundingBox())?.y ?? 0;
        const card = await page
          .getByRole('listitem')
          .filter({ has: button(/^Details/) })
          .first()
          .boundingBox();
        t.ok(
          (card?.y ?? 1000) - top < MAX_FIRST_REQUEST_TOP,
          `${language}: ${(card?.y ?? 0) - top} px below the heading`,
        );
        const tops = [filters, ...['CSV', 'JSON'].map((name) => page.getByRole('button', { name }))];
        const rows = await Promise.all(tops.map(async (one) => (await one.boundingBox())?.y));
        t.equal(new Set(rows).size, 1, `${language}: the filters and the exports share a row`);
        t.equal(await page.getByRole('combobox', { name: 'Status' }).count(), 0);
        await filters.click();
        await dialog.waitFor();
        await look(t, `phone-filters-${language}`);
        await labelsFit(t, `phone-filters-${language}`);
        await page.setViewportSize(PHONE);
        const sheet = await dialog.boundingBox();
        t.equal((sheet?.y ?? 0) + (sheet?.height ?? 0), PHONE.height, 'the filters are in a sheet');
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      }
      await page.evaluate(`localStorage.setItem('parley.language', 'en')`);
      await page.reload();
      await first.waitFor();
      await filters.click();
      await dialog.getByLabel('Endpoint').selectOption('POST /api/v1/search');
      await dialog.getByLabel('Status').selectOption('2xx');
      await page.waitForURL('**/usage?endpoint=*&status=2xx');
      await dialog.getByLabel('Request ID').waitFor();
      await dialog.getByRole('button', { name: 'Done' }).click();
      await dialog.waitFor({ state: 'detached' });
      await button('Filters (2)').waitFor();
      await page.locator('button:focus', { hasText: 'Filters (2)' }).waitFor();
      await button(/completions/)
        .first()
        .waitFor({ state: 'detached' });
      t.equal(await button(/^Details for/).count(), 1);
      await button('Filters (2)').click();
      await dialog.getByRole('button', { name: 'Show all requests' }).click();
      await dialog.waitFor({ state: 'detached' });
      await button(/^Details for POST .*completions/).waitFor();
      t.equal(await filters.textContent(), 'Filters');
    },
  );

  await t.test('no label wraps in English or in German', async (t) => {
    // The operator's page lists the account.
    for (const message of ['Hello', 'Thanks']) await client.post('/chat', { message }, { cookie });
    /** Each page, with an element that appears once its data is loaded. */
    const pages = [
      ['/chat', text(/50 (replies|Antworten)/)],
      ['/your-api', text('Third').first()],
      ['/usage', button(/^Details .*POST.*search/)],
      ['/plan', page.getByRole('heading', { name: 'Pro', exact: true })],
      ['/settings', button(/^(Set up a webhook|Webhook einrichten)$/)],
      ['/operator', page.getByRole('heading', { name: /^(Background jobs|Hintergrundaufgaben)$/ })],
      ['/operator/accounts', page.getByRole('link', { name: email })],
      [`/operator/accounts/${accountId}`, text('Third').first()],
      ['/operator/log', text(/command line|Kommandozeile/).first()],
    ] as const;
    for (const language of ['en', 'de'])
      for (const [path, data] of pages) {
        await page.evaluate(`localStorage.setItem('parley.language', '${language}')`);
        await page.goto(HOME + path);
        await data.waitFor();
        await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
        for (const width of [PHONE.width, 320]) {
          await page.setViewportSize({ ...PHONE, width });
          await page.evaluate('document.fonts.ready');
          t.same(await page.evaluate(wrapped), [], `${path}, ${language}, ${width} px`);
        }
      }
    await page.setViewportSize(PHONE);
  });

  await t.test('no chart label is cut off for a plan with every meter, in German', async (t) => {
    await page.evaluate(`localStorage.setItem('parley.language', 'de')`);
    await page.goto(`${HOME}/usage`);
    const meters = page.getByRole('radiogroup', { name: 'Art der Nutzung' });
    await meters.getByText('Embeddings').waitFor();
    t.ok(
      await meters.evaluate((group) => group.scrollWidth <= group.clientWidth),
      'the meters do not overflow',
    );
    await labelsFit(t, 'usage');
  });

  await t.test('the result of a change far down the page is on the screen', async (t) => {
    const isOnScreen = async (words: string | RegExp) => {
      await text(words).waitFor();
      const box = await text(words).boundingBox();
      t.ok(box !== null && box.y > 0 && box.y + box.height < PHONE.height, `${words} at ${box?.y}`);
    };
    await page.evaluate(`localStorage.setItem('parley.language', 'en')`);
    await page.setViewportSize(PHONE);
    await page.goto(`${HOME}/plan`);
    await button('Change to Pro').click();
    await button('Change to Pro for').click();
    await dialog.waitFor({ state: 'detached' });
    t.ok(await page.evaluate('scrollY > 300'), 'the page is scrolled');
    await isOnScreen(/^You are now on the Pro plan/);
    await look(t, 'phone-plan-changed');
    await page.setViewportSize(PHONE);
    await page.goto(`${HOME}/settings`);
    await button('Change password').click();
    await dialog.getByLabel('Current password').fill(password);
    await dialog.getByLabel('New password').fill('another horse battery');
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await dialog.waitFor({ state: 'detached' });
    await text('Password changed').first().waitFor();
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await isOnScreen('Password changed. All other devices are signed out.');
    await button('Close').click();
    t.equal(await text('Password changed. All other').count(), 0);
  });

  t.same(complaints, [], 'no console errors');
});
