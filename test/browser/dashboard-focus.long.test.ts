// The dashboard by keyboard: whatever was pressed, the focus stays where the work is and never falls out of the page.
import t, { type Test } from 'tap';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';

const WAIT_MS = 3000;

/** What has the focus, by its name; `body` where nothing has. */
const focusedName = `(({ activeElement: one }) => one === document.body
  ? 'body'
  : one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent)(document)`;

const isInView = `(({ bottom, top }) => top >= 0 && bottom <= innerHeight)(
  document.activeElement.closest('.mantine-InputWrapper-root')?.getBoundingClientRect() ?? { top: -1 })`;

t.setTimeout(1_800_000);

t.test('the focus stays where the work is', { skip: noDashboard }, async (t) => {
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
    // What is still to come must not take it away.
    await page.waitForTimeout(100);
    t.equal(await focused(), name, when);
  };
  const isInSight = async (t: Test, what: string) => t.equal(await page.evaluate(isInView), true, what);
  const press = (name: string | RegExp) => button(name).press('Enter');
  const heading = (name: string) => page.getByRole('heading', { level: 1, name });
  const status = page.locator('main').getByRole('status');

  await t.test('a raw key that was not copied', async (t) => {
    await press('Create key');
    await page.getByLabel('Name').fill('Website');
    await dialog.getByRole('button', { name: 'Create key' }).press('Enter');
    await dialog.getByText('Copy the key now').waitFor();
    await press('Done');
    await isFocused(t, 'Copy key', 'what is asked for');
    await page.keyboard.press('Enter');
    await isFocused(t, 'Done', 'what is left to do');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await isFocused(t, 'Your API', 'the button that opened it is gone');
  });

  await t.test('origins: added by the button, refused, removed, and back', async (t) => {
    await press('Edit origins for Website');
    const field = page.getByLabel('Add an origin');
    await field.fill('https://app.example.com');
    await press('Add');
    await dialog.getByText('1 of 10').waitFor();
    await isFocused(t, 'Add an origin', 'ready for the next one');
    await field.fill('https://*.example.com');
    expectRefusals(1);
    await press('Add');
    await dialog.getByText('Wildcards are not allowed').waitFor();
    await isFocused(t, 'Add an origin', 'where the error is');
    await isInSight(t, 'with the error');
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
      await isFocused(t, 'Add an origin', `after ${n}`);
      await isInSight(t, `${n} are no reason to lose sight of the field`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await press('Done');
    await isFocused(t, 'Edit origins for Website', 'back where it was');
  });

  await t.test('a dialog begins in its first field that can be used', async (t) => {
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

  await t.test('a plan, and the message that it is changed', async (t) => {
    await page.goto(`${HOME}/plan`);
    await press('Change to Plus');
    await dialog.waitFor();
    await press(/^Change to Plus for/);
    await text('You are now on the Plus plan').waitFor();
    await isFocused(t, 'Plan', 'its button is off by now');
    await press('Close');
    await isFocused(t, 'Plan', 'the message is gone');
  });

  await t.test('usage: loading anew, and the days', async (t) => {
    await client.post('/search', { query: 'keys' }, { cookie });
    await page.goto(`${HOME}/usage`);
    await button(/^Details for POST/).waitFor();
    setBetween({ holds: '/api/v1/requests' });
    await press('Refresh');
    await page.locator('button[aria-busy=true]', { hasText: 'Refresh' }).waitFor();
    await isFocused(t, 'Refresh', 'while it loads');
    await page.keyboard.press('Enter');
    setBetween({});

    await page.goto(`${HOME}/usage`);
    await press('Previous day');
    await press('Next day');
    await isFocused(t, 'Next day', 'at the last day');
    t.equal(await button('Next day').getAttribute('aria-disabled'), 'true');
    await page.keyboard.press('Enter');
    await text(/, today \(UTC\)/).waitFor();
  });

  await t.test('a part that could not be loaded', async (t) => {
    setBetween({ breaks: '/api/v1/sessions' });
    expectRefusals(3);
    await page.goto(`${HOME}/settings`);
    await text('unexpected response (502)').waitFor();
    expectRefusals(3);
    await press('Try again');
    await text('unexpected response (502)').waitFor({ state: 'detached' });
    await text('unexpected response (502)').waitFor();
    await isFocused(t, 'Try again', 'it failed again');
    setBetween({});
    expectRefusals(0);
    await page.keyboard.press('Enter');
    await text('This device').waitFor();
    await isFocused(t, 'Settings', 'the button is gone');
  });

  await t.test('Esc closes one dialog, the topmost', async (t) => {
    await client.post('/chat', { message: 'How do I create a key?' }, { cookie });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${HOME}/chat`);
    await press(/^Conversations$/);
    await press(/^Delete “/);
    await dialog.nth(1).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForTimeout(300);
    t.equal(await dialog.count(), 1, 'the list is open yet');
    t.match(await focused(), /^Delete “/, 'and has the focus');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await isFocused(t, 'Conversations', 'back where it was');
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('a key that was revoked in another tab', async (t) => {
    const { body } = await client.get('/keys', { cookie });
    const [{ id }] = (body as { data: [{ id: string }] }).data;
    const ids = [id];
    for (const name of ['Second', 'Third']) ids.push((await client.createKey({ cookie }, { name })).id);
    await page.goto(`${HOME}/your-api`);
    const actions = [
      [
        'Edit origins for Website',
        'Remove https://app.example.com',
        '“Website” was revoked in another tab or on another device.',
      ],
      ['Rotate Second', 'Rotate key', '“Second” was revoked in another tab or on another device.'],
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

  await t.test('signing out, and the end of the account', async (t) => {
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
    await isFocused(t, 'Sign in', 'after the end of the account');
  });

  t.same(complaints, [], 'nothing in the console');
});
