// The dashboard by keyboard: after every action, the focus is on the next useful element and never lost.
import t, { type Test } from 'tap';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';

const WAIT_MS = 3000;

/** The name of the focused element, or `body` if nothing has the focus. */
const focusedName = `(({ activeElement: one }) => one === document.body
  ? 'body'
  : one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent)(document)`;

const isInView = `(({ bottom, top }) => top >= 0 && bottom <= innerHeight)(
  document.activeElement.closest('.mantine-InputWrapper-root')?.getBoundingClientRect() ?? { top: -1 })`;

t.setTimeout(1_800_000);

t.test('the focus is never lost', { skip: noDashboard }, async (t) => {
  const walk = await startDashboard(t, '/your-api', { BILLING: 'open' });
  const {
    button,
    client,
    complaints,
    cookie,
    dialog,
    email,
    expectRefusals,
    page,
    password,
    setBetween,
    text,
  } = walk;
  const focused = () => page.evaluate<string>(focusedName);
  const isFocused = async (t: Test, name: string, when: string) => {
    const end = Date.now() + WAIT_MS;
    while ((await focused()) !== name && Date.now() < end) await page.waitForTimeout(50);
    // Pending updates must not move the focus.
    await page.waitForTimeout(100);
    t.equal(await focused(), name, when);
  };
  const isInSight = async (t: Test, what: string) => t.equal(await page.evaluate(isInView), true, what);
  const press = (name: string | RegExp) => button(name).press('Enter');
  const heading = (name: string) => page.getByRole('heading', { level: 1, name });
  const status = page.locator('main').getByRole('status');

  await t.test('a raw key that was not copied gets the focus on its button', async (t) => {
    await press('Create key');
    await page.getByLabel('Name').fill('Website');
    await dialog.getByRole('button', { name: 'Create key' }).press('Enter');
    await dialog.getByText('Copy the key now').waitFor();
    await press('Done');
    await isFocused(t, 'Copy key', 'the focus is on the requested action');
    await page.keyboard.press('Enter');
    await isFocused(t, 'Done', 'the focus is on the next step');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await isFocused(t, 'Your API', 'the button that opened the dialog is gone');
  });

  await t.test('the focus stays in the origins dialog, and returns to its button', async (t) => {
    await press('Edit origins for Website');
    const field = page.getByLabel('Add an origin');
    await field.fill('https://app.example.com');
    await press('Add');
    await dialog.getByText('1 of 10').waitFor();
    await isFocused(t, 'Add an origin', 'ready for the next origin');
    await field.fill('https://*.example.com');
    expectRefusals(1);
    await press('Add');
    await dialog.getByText('Wildcards are not allowed').waitFor();
    await isFocused(t, 'Add an origin', 'the focus is on the field with the error');
    await isInSight(t, 'the field and its error are in view');
    await field.fill('');
    await press('Remove https://app.example.com');
    await press('Undo');
    await dialog.getByText('1 of 10').waitFor();
    t.match(await focused(), /Pages on these origins/, 'the focus is within the list');
    await page.setViewportSize({ width: 1280, height: 420 });
    for (const n of [2, 3, 4, 5]) {
      await field.fill(`https://app-${n}.example.com`);
      await press('Add');
      await dialog.getByText(`${n} of 10`).waitFor();
      await isFocused(t, 'Add an origin', `after origin ${n}`);
      await isInSight(t, `the field is in view with ${n} origins`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await press('Done');
    await isFocused(t, 'Edit origins for Website', 'the focus returns to the button');
  });

  await t.test('a dialog focuses its first enabled field', async (t) => {
    const begins = async (open: string | RegExp, field: string) => {
      await press(open);
      await dialog.waitFor();
      await isFocused(t, field, String(open));
      await page.keyboard.press('Escape');
      await page.locator('#root:not([inert])').waitFor();
    };
    await begins('Create key', 'Name');
    await begins('Edit origins for Website', 'Add an origin');
    await begins('Rotate Website', 'after a day');
    const allowed_origins = Array.from({ length: 10 }, (_, n) => `https://app-${n}.example.com`);
    const full = await client.createKey({ cookie }, { name: 'Full', allowed_origins });
    await page.goto(`${HOME}/your-api`);
    await begins('Edit origins for Full', 'Close');
    await client.delete(`/keys/${full.id}`, { cookie });
    await page.goto(`${HOME}/settings`);
    await begins('Change email address', 'New email address');
    await begins('Change password', 'Current password');
    await begins('Delete account', `To confirm, type ${email}`);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${HOME}/chat`);
    await begins(/^Conversations$/, 'Search conversations');
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('after a change of plan and its confirmation, the focus is on the heading', async (t) => {
    await page.goto(`${HOME}/plan`);
    await press('Change to Plus');
    await dialog.waitFor();
    await press(/^Change to Plus for/);
    await text('You are now on the Plus plan').waitFor();
    await isFocused(t, 'Plan', 'the button is disabled');
    await press('Close');
    await isFocused(t, 'Plan', 'the confirmation is closed');
  });

  await t.test('the buttons that refresh usage and switch days keep the focus', async (t) => {
    await client.post('/search', { query: 'keys' }, { cookie });
    await page.goto(`${HOME}/usage`);
    await button(/^Details for POST/).waitFor();
    setBetween({ holds: '/api/v1/requests' });
    await press('Refresh');
    await page.locator('button[aria-busy=true]', { hasText: 'Refresh' }).waitFor();
    await isFocused(t, 'Refresh', 'while the log loads');
    await page.keyboard.press('Enter');
    setBetween({});

    await page.goto(`${HOME}/usage`);
    await press('Previous day');
    await press('Next day');
    await isFocused(t, 'Next day', 'on the last day');
    t.equal(await button('Next day').getAttribute('aria-disabled'), 'true');
    await page.keyboard.press('Enter');
    await text(/, today \(UTC\)/).waitFor();
  });

  await t.test('a retry keeps the focus until its section has loaded', async (t) => {
    setBetween({ breaks: '/api/v1/sessions' });
    expectRefusals(3);
    await page.goto(`${HOME}/settings`);
    await text('unexpected response (502)').waitFor();
    expectRefusals(3);
    await press('Try again');
    await text('unexpected response (502)').waitFor({ state: 'detached' });
    await text('unexpected response (502)').waitFor();
    await isFocused(t, 'Try again', 'the retry failed');
    setBetween({});
    expectRefusals(0);
    await page.keyboard.press('Enter');
    await text('This device').waitFor();
    await isFocused(t, 'Settings', 'the button is gone');
  });

  await t.test('Esc closes only the topmost dialog', async (t) => {
    await client.post('/chat', { message: 'How do I create a key?' }, { cookie });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${HOME}/chat`);
    await press(/^Conversations$/);
    await press(/^Delete “/);
    await dialog.nth(1).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForTimeout(300);
    t.equal(await dialog.count(), 1, 'the list is still open');
    t.match(await focused(), /^Delete “/, 'the focus is in the list');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await isFocused(t, 'Conversations', 'the focus returns to the button');
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('if a key was revoked in another tab, the focus moves to the heading', async (t) => {
    const { body } = await client.get('/keys', { cookie });
    const [{ id }] = (body as { data: [{ id: string }] }).data;
    const ids = [id];
    for (const name of ['Second', 'Third']) ids.push((await client.createKey({ cookie }, { name })).id);
    await page.goto(`${HOME}/your-api`);
    const actions = [
      [
        'Edit origins for Website',
        'Remove https://app.example.com',
        '“Website” is no longer active. It expired or was revoked.',
      ],
      ['Rotate Second', 'Rotate key', '“Second” is no longer active. It expired or was revoked.'],
      ['Revoke Third', 'Revoke key', 'Key “Third” was revoked.'],
    ] as const;
    for (const [place, [open, confirm, said]] of actions.entries()) {
      await press(open);
      await dialog.waitFor();
      await client.delete(`/keys/${ids[place]}`, { cookie });
      expectRefusals(1);
      await press(confirm);
      await status.getByText(said).waitFor({ timeout: WAIT_MS });
      t.equal(await dialog.count(), 0, said);
      await isFocused(t, 'Your API', 'the row is gone');
    }
  });

  await t.test('after signing out and after deleting the account, the focus is on the heading', async (t) => {
    await press('Sign out');
    await heading('Sign in').waitFor();
    await isFocused(t, 'Sign in', 'after signing out');
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByLabel('Password', { exact: true }).press('Enter');
    await heading('Your API').waitFor();
    await page.goto(`${HOME}/settings`);
    await press('Delete account');
    await page.getByLabel('To confirm, type').fill(email);
    await page.getByLabel('Current password').fill(password);
    await page.getByLabel('Current password').press('Enter');
    await text('Your account has been deleted.').waitFor();
    await isFocused(t, 'Sign in', 'after deleting the account');
  });

  t.same(complaints, [], 'no console errors');
});
