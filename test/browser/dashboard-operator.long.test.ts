// The operator pages: finding the cause of a complaint on a phone, and every change that an operator can make.
import t from 'tap';
import { pagePaths } from '../../src/dashboard/paths.ts';
import { Maintenance } from '../../src/jobs/maintenance.ts';
import { savedFile } from '../support/browser.ts';
import { fewChats, HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { operatorEnv, signInOperator, signInWith } from '../support/operator.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(1_800_000);

t.test('operators see the service and change accounts', { skip: noDashboard }, async (t) => {
  const upstreams = await Promise.all([startUpstream({ fault: 'status', status: 500 }), startUpstream()]);
  t.teardown(() => Promise.all(upstreams.map((upstream) => upstream.stop())));
  const file = several(upstreams);
  const [first, second] = file.models[0]?.targets ?? [];
  const targets = [first, { ...second, order: 2, prices: { input: 1000, output: 5000 } }];
  const { env } = upstreamsFile({ ...file, models: [{ ...file.models[0], targets }] });
  const dashboard = await startDashboard(
    t,
    '/settings',
    { ...operatorEnv, ...env, PLANS_FILE: fewChats(t, 6) },
    async (service) => {
      await new Maintenance(service.database, service.app.config, service.app.log).run();
      return signInOperator(service);
    },
  );
  const { button, client, complaints, context, cookie, database, dialog, expectRefusals, look, page, text } =
    dashboard;
  const link = (name: string | RegExp) => page.getByRole('link', { name });

  const address = 'grace@customer.example';
  const owner = await client.signUp(address);
  const { key } = await client.createKey(owner, { name: 'Their website' });
  for (let n = 0; n < 8; n += 1) await client.post('/chat', { message: 'Hello' }, { key });
  await database.db.execute(`update requests set latency_ms = 12345 where status = 200`);

  await t.test('on a phone, the reason for a refusal is two taps away', async (t) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await link('Operator').click();
    await page.getByRole('heading', { name: 'Refused requests' }).waitFor();
    await link('429 quotaExceeded').waitFor({ timeout: 20_000 });
    await text(/^(Cooling down for one account|Probing)$/).waitFor();
    await text('Delete old refusals').waitFor();
    await look(t, 'operator-overview');
    const accounts = page.getByRole('list', { name: 'Accounts with the most refused requests' });
    await accounts.getByRole('link', { name: address }).click();
    await page.getByRole('heading', { name: address }).waitFor();
    await text('429 quotaExceeded').first().waitFor();
    await look(t, 'operator-account');
    await button(/^Details for 2 requests refused/).click();
    await dialog.getByText('Their website').waitFor();
    t.match(
      await dialog.getByRole('link', { name: /quotaExceeded means/ }).getAttribute('href'),
      '/docs/errors/quotaExceeded',
    );
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 390, height: 844 });
    await button('Filters').click();
    await dialog.getByLabel('Status').selectOption('2xx');
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    await button(/^Details for POST/)
      .first()
      .click();
    await dialog.getByText('Upstream', { exact: true }).waitFor();
    await dialog.getByText(/^\$0\.\d+$/).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  const confirm = async (name: string) => {
    await dialog.getByRole('button', { name }).click();
    await dialog.waitFor({ state: 'detached' });
  };

  await t.test('an operator can suspend an account, change its plan, and revoke its key', async (t) => {
    await button('Suspend account').click();
    await look(t, 'operator-suspend');
    await confirm('Suspend account');
    await text(/^Suspended /).waitFor();
    t.equal((await client.get('/account', { cookie: owner.cookie })).status, 401);
    await button('Reactivate account').click();
    await confirm('Reactivate account');
    await page.getByText('Active', { exact: true }).waitFor();
    await button('Change plan').click();
    await dialog.getByLabel('Plan').selectOption('plus');
    await dialog.getByLabel('Billing').selectOption('yearly');
    await confirm('Change plan');
    await text('plus, billed yearly').waitFor();
    t.equal((await client.post('/chat', { message: 'Hello' }, { key })).status, 200);
    await button('Revoke key Their website').click();
    await confirm('Revoke key');
    await page.getByText('No longer active', { exact: true }).waitFor();
    t.equal((await client.post('/chat', { message: 'Hello' }, { key })).status, 401);
  });

  await t.test('a reset password is shown until it is confirmed, and works', async (t) => {
    await button('Reset password').click();
    await dialog.getByRole('button', { name: 'Reset password' }).click();
    await dialog.getByText('Copy the password now').waitFor();
    const password = (await dialog.locator('code').textContent()) ?? '';
    await look(t, 'operator-password');
    await page.keyboard.press('Escape');
    t.ok(await dialog.isVisible(), 'only the button closes the dialog');
    await confirm('Done');
    await signInWith(client, address, password);
  });

  await t.test('an operator can create, find, and delete an account', async (t) => {
    await link('Accounts').click();
    await link(address).waitFor();
    await button('Create account').click();
    const form = dialog.getByLabel('Email address');
    await form.fill('grace');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await dialog.getByText('Enter an email address, such as ada@example.com.').waitFor();
    await form.fill(address);
    expectRefusals(1);
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await dialog.getByRole('alert').waitFor();
    t.equal(await form.getAttribute('aria-invalid'), 'true');
    await form.fill('new@customer.example');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await dialog.getByText('Copy the password now').waitFor();
    await confirm('Done');
    await page.getByLabel('Email address contains').fill('NEW@');
    await link(address).waitFor({ state: 'detached' });
    await look(t, 'operator-accounts');
    await link('new@customer.example').click();
    await text('The account has no keys.').waitFor();
    await button('Delete account').click();
    await confirm('Delete account');
    await page.getByRole('heading', { name: 'Accounts', level: 1 }).waitFor();
    await link(address).waitFor();
    t.equal(await link('new@customer.example').count(), 0);
  });

  await t.test('the operator log lists every change, and can be exported', async (t) => {
    await link('Operator log').click();
    await text('Deleted account: new@customer.example').waitFor();
    const said = await page.getByRole('listitem').allTextContents();
    for (const part of [
      'Created account: new@customer.example',
      `Reset password: ${address}`,
      `Revoked key: ${address}`,
      `Changed plan: ${address}plus, billed yearly`,
      `Suspended account: ${address}`,
      `Reactivated account: ${address}`,
      'on the command line',
    ])
      t.ok(
        said.some((line) => line.includes(part)),
        part,
      );
    await look(t, 'operator-log');
    const saved = await savedFile(page, () => link('Export as JSON Lines').click());
    t.match(saved.name, /^parley-operator-log-.*\.jsonl$/);
  });

  await t.test('other accounts cannot see the operator pages', async (t) => {
    const other = await client.signUp();
    const [name = '', value = ''] = other.cookie.split(/=(.*)/);
    t.not(other.cookie, cookie);
    await context.addCookies([{ name, value, url: HOME, httpOnly: true, secure: true, sameSite: 'Strict' }]);
    for (const path of pagePaths.filter((one) => one.startsWith('/operator'))) {
      await page.goto(HOME + path.replace(':id', '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f'));
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
      t.equal(await link('Operator').count(), 0, path);
    }
  });

  t.same(complaints, []);
});
