// The operator pages in German: a service with failures, and every change that an operator can make.
import t from 'tap';
import { Maintenance } from '../../src/jobs/maintenance.ts';
import { fewChats, HOME, noDashboard } from '../support/dashboard-pages.ts';
import { startGermanDashboard } from '../support/german.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(1_800_000);

t.test('the operator pages are in German', { skip: noDashboard }, async (t) => {
  const upstreams = await Promise.all([startUpstream({ fault: 'status', status: 500 }), startUpstream()]);
  t.teardown(() => Promise.all(upstreams.map((upstream) => upstream.stop())));
  const file = several(upstreams);
  const [first, second] = file.models[0]?.targets ?? [];
  const targets = [first, { ...second, order: 2, prices: { input: 1000, output: 5000 } }];
  const { env } = upstreamsFile({ ...file, models: [{ ...file.models[0], targets, name: 'haupt' }] });
  const dashboard = await startGermanDashboard(
    t,
    '/settings',
    { ...operatorEnv, ...env, PLANS_FILE: fewChats(t, 6) },
    async (service) => {
      await new Maintenance(service.database, service.app.config, service.app.log).run();
      return signInOperator(service);
    },
  );
  const { button, client, complaints, database, dialog, expectRefusals, page, see, text } = dashboard;
  const link = (name: string | RegExp) => page.getByRole('link', { name });
  const inDialog = (name: string) => dialog.getByRole('button', { name });
  const closed = () => dialog.waitFor({ state: 'detached' });
  const confirm = async (name: string) => {
    await inDialog(name).click();
    await closed();
  };

  const address = 'grace@kunde.example';
  const owner = await client.signUp(address);
  const { key } = await client.createKey(owner, { name: 'Ihre Webseite' });
  for (let n = 0; n < 8; n += 1) await client.post('/chat', { message: 'Hallo' }, { key });
  await database.db.execute(`update requests set latency_ms = 12345 where status = 200`);

  await t.test('refused and slow requests, upstreams, and jobs are in German', async (t) => {
    await page.goto(`${HOME}/operator`);
    // Refusals are stored with a short delay.
    await link('429 quotaExceeded').waitFor();
    await text('Alte Ablehnungen löschen').waitFor();
    await see(t, 'operator-overview');
    await page
      .getByRole('list', { name: /^Konten mit den meisten/ })
      .getByRole('link', { name: address })
      .click();
    await text('429 quotaExceeded').first().waitFor();
    await see(t, 'operator-account-refused');
    await page.getByLabel('Status').selectOption('2xx');
    await button(/^Details zu POST/)
      .first()
      .click();
    await dialog.getByText('Upstream', { exact: true }).waitFor();
    await see(t, 'operator-request');
    await page.keyboard.press('Escape');
    await closed();
  });

  await t.test('each change requires confirmation in German', async (t) => {
    for (const [action, state] of [
      ['Tarif ändern', 'plan'],
      ['Passwort zurücksetzen', 'reset'],
      ['Konto löschen', 'delete'],
      ['Schlüssel widerrufen: Ihre Webseite', 'revoke'],
      ['Konto sperren', 'suspend'],
    ] as const) {
      await button(action).click();
      await dialog.waitFor();
      await see(t, `operator-${state}`);
      if (state === 'suspend') continue;
      await page.keyboard.press('Escape');
      await closed();
    }
    await confirm('Konto sperren');
    await text(/^Gesperrt seit/).waitFor();
    await see(t, 'operator-suspended');
    await button('Konto entsperren').click();
    await dialog.waitFor();
    await see(t, 'operator-resume');
    await confirm('Konto entsperren');
    await button('Tarif ändern').click();
    await dialog.getByLabel('Tarif').selectOption('plus');
    await confirm('Tarif ändern');
    await text('plus, monatliche Abrechnung').waitFor();
    await button('Passwort zurücksetzen').click();
    await inDialog('Passwort zurücksetzen').click();
    await text('Kopieren Sie das Passwort jetzt').waitFor();
    await see(t, 'operator-password');
    await confirm('Fertig');
  });

  await t.test('a created, taken, or missing account is in German', async (t) => {
    await link('Konten').click();
    await button('Konto erstellen').click();
    await dialog.getByLabel('E-Mail-Adresse').fill(address);
    expectRefusals(1);
    await inDialog('Konto erstellen').click();
    await dialog.getByRole('alert').waitFor();
    await see(t, 'operator-create-taken');
    await dialog.getByLabel('E-Mail-Adresse').fill('neu@kunde.example');
    await inDialog('Konto erstellen').click();
    await text('Kopieren Sie das Passwort jetzt').waitFor();
    await see(t, 'operator-created');
    await confirm('Fertig');
    await page.getByLabel('E-Mail-Adresse enthält').fill('niemand');
    await text('Kein Konto gefunden.').waitFor();
    await see(t, 'operator-none-found');
    await link('Betreiberprotokoll').click();
    await text('Tarif geändert: grace@kunde.example').waitFor();
    await see(t, 'operator-log');
  });

  t.same(complaints, []);
});
