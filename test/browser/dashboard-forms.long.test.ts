// What the forms say about a wrong value: a sentence for people, beside the field.
import type { Locator } from 'playwright-core';
import t from 'tap';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';

t.setTimeout(1_800_000);

t.test('forms', { skip: noDashboard }, async (t) => {
  const { button, complaints, context, dialog, expectRefusals, look, page, password, text } =
    await startDashboard(t, '/settings');
  const alerts = async () => (await page.getByRole('alert').allTextContents()).join('\n');
  const ofSchema = /In the body|must match|must have/;

  await t.test('an email address that the API refuses', async (t) => {
    await button('Change email address').click();
    await dialog.getByLabel('New email address').fill('ada@localhost_');
    await dialog.getByLabel('Current password').fill(password);
    expectRefusals(1);
    await dialog.getByRole('button', { name: 'Change email address' }).click();
    await text('Enter an email address, such as ada@example.com.').waitFor();
    t.notMatch(await alerts(), ofSchema);
    t.equal(await dialog.getByLabel('New email address').getAttribute('aria-invalid'), 'true');
    await look(t, 'form-email-refused');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  await t.test('a key without a name, or without its last day', async (t) => {
    await page.goto(`${HOME}/your-api`);
    await page.setViewportSize({ width: 1440, height: 620 });
    await button('Create key').first().click();
    const create = dialog.getByRole('button', { name: 'Create key' });
    const { height = 0, y = 620 } = (await create.boundingBox()) ?? {};
    t.ok(y + height < 620, 'the button is on the screen');
    await create.click();
    await text('Enter a name of 1 to 100 characters.').waitFor();
    t.equal(await page.getByLabel('Name').getAttribute('aria-invalid'), 'true');
    await page.getByLabel('Name').fill('Website');
    await page.getByText('Expiry and allowed origins').click();
    await page.getByLabel('Expires').selectOption('On a specific date');
    await create.click();
    await text('Choose a date in the future.').waitFor();
    t.equal(await page.evaluate('document.activeElement.type'), 'date');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('origins as people paste them', async (t) => {
    await page.goto(`${HOME}/your-api`);
    await button('Create key').first().click();
    await page.getByLabel('Name').fill('Website');
    await page.getByText('Expiry and allowed origins').click();
    const field = page.getByLabel('Add an origin');
    const rightOf = async (one: Locator) => {
      const { width = 0, x = 0 } = (await one.boundingBox()) ?? {};
      return x + width;
    };
    t.ok((await rightOf(field)) - (await rightOf(button('Add'))) < 10, 'the button ends with the field');
    const add = async (typed: string) => {
      await field.fill(typed);
      await field.press('Enter');
    };
    const list = dialog.getByRole('list', { name: 'Allowed origins' });
    await add('https://one.example.com/');
    await list.getByText('https://one.example.com', { exact: true }).waitFor();
    for (const [typed, origin] of [
      ['https://two.example.com/app/index.html?a=1', 'https://two.example.com'],
      ['three.example.com', 'https://three.example.com'],
      ['http://four.example.com:8080/', 'https://four.example.com:8080'],
    ] as const) {
      await add(typed);
      await button(`Use ${origin}`).waitFor();
      if (typed === 'three.example.com') await look(t, 'form-origin-suggested');
      await button(`Use ${origin}`).click();
      await list.getByText(origin, { exact: true }).waitFor();
      t.equal(await field.inputValue(), '');
    }
    for (const typed of ['http://localhost:5173', 'not an origin']) {
      await add(typed);
      await dialog.getByRole('alert').waitFor();
      t.equal(await button(/^Use https/).count(), 0, typed);
    }
    await field.fill('');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Copy the key now').waitFor();
    await button('Copy key').first().click();
    await button('Done').click();
    await dialog.waitFor({ state: 'detached' });
  });

  await t.test('signing up without an address, and with a short password', async (t) => {
    await context.clearCookies();
    expectRefusals();
    await page.goto(`${HOME}/your-api`);
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByRole('heading', { name: 'Create an account' }).waitFor();
    expectRefusals(0);
    let sent = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') sent += 1;
    });
    await page.getByLabel('Email address').fill('nobody');
    await page.getByLabel('Password', { exact: true }).fill('short');
    await button('Sign up').click();
    await text('Enter an email address, such as ada@example.com.').waitFor();
    await text('Enter a password of 8 to 256 characters.').waitFor();
    t.equal(sent, 0, 'nothing is sent');
    await look(t, 'form-sign-up');
  });
  t.same(complaints, []);
});
