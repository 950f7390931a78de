// The Your API page: base URLs and examples, the usage of each key, old secrets, and inactive keys.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { eq } from 'drizzle-orm';
import t from 'tap';
import { apiKeys, keyUsage } from '../../src/database/tables.ts';
import { outside } from '../sdk/support.ts';
import { clipboardText } from '../support/browser.ts';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';

t.setTimeout(1_800_000);

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The folder with OpenAI's library. */
const clients = join(root, 'test/clients');

t.test('the page Your API shows base URLs, keys, and their use', { skip: noDashboard }, async (t) => {
  const {
    accountId,
    button,
    client,
    complaints,
    context,
    cookie,
    database,
    dialog,
    fitsBetween,
    look,
    page,
    text,
  } = await startDashboard(t, '/your-api');
  const statusOf = async (key: string) => (await client.get('/models', { key })).status;
  const copied = async (name: string) => {
    await button(`Copy ${name}`).click();
    return clipboardText(context, page);
  };

  await t.test('base URLs are shown before the first key exists', async (t) => {
    await page.getByRole('heading', { name: 'Create your first key' }).waitFor();
    t.equal(await copied('base URL for Parley API'), `${HOME}/api/v1`);
    t.equal(await copied('base URL for OpenAI clients'), `${HOME}/api/v1`);
    t.equal(await copied('base URL for Anthropic clients'), `${HOME}/api`);
    await look(t, 'your-api-empty');
  });

  const key = await client.createKey({ cookie }, { name: 'Website', scopes: ['chat', 'search', 'models'] });

  await t.test('the examples work', async (t) => {
    await page.reload();
    await text('1 of 5 keys').waitFor();
    const local = client.origin;
    const run = async (program: string, args: string[], cwd = root) => {
      const env = { ...process.env, PARLEY_KEY: key.key };
      return (await promisify(execFile)(program, args, { cwd, env })).stdout;
    };
    const example = async (language: string) => {
      await page.getByRole('tab', { name: language, exact: true }).click();
      return (await copied(`${language} example`)).replaceAll(HOME, local);
    };
    t.match(await run('sh', ['-c', await example('curl')]), /"reply":"/);
    const javascript = await example('JavaScript');
    const [, file = ''] = /^\/\/ Save as (\w+\.mjs) and run: node \1\n/.exec(javascript) ?? [];
    const folder = outside(t);
    writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
    writeFileSync(join(folder, file), javascript);
    t.match(await run(process.execPath, [file], folder), /conversation_id/);
    const python = await example('Python');
    t.match(python, /requests\.post\(\n {4}"http.*\/api\/v1\/chat",\n/);
    await run('python3', ['-c', `import ast, sys; ast.parse(sys.argv[1])`, python]);
    const openaiPython = await example('OpenAI Python');
    t.match(
      openaiPython,
      /OpenAI\(\n {4}base_url="http.*\/api\/v1",\n {4}api_key=os\.environ\["PARLEY_KEY"\],\n\)/,
    );
    await run('python3', ['-c', `import ast, sys; ast.parse(sys.argv[1])`, openaiPython]);
    const openaiNode = await example('OpenAI Node');
    t.match(await run(process.execPath, ['--input-type=module', '-e', openaiNode], clients), /key/);
    t.equal(
      await page.getByRole('link', { name: 'OpenAI Node guide' }).getAttribute('href'),
      '/docs/guides/openai-compatible',
    );
    const sdk = await example('TypeScript SDK');
    const project = outside(t);
    await run(process.execPath, [
      join(root, 'tools/sdk/build.mjs'),
      join(project, 'node_modules/parley-sdk'),
    ]);
    t.match(await run(process.execPath, ['--input-type=module', '-e', sdk], project), /conversation_id/);
  });

  await t.test("a key's row shows today's requests and units, and links to the requests", async (t) => {
    await client.post('/search', { query: 'keys' }, { key: key.key });
    await page.reload();
    const row = page.getByRole('row', { name: /Website/ });
    await row.getByText('Today: 5 requests', { exact: true }).waitFor();
    await row.getByText('Units: Chat 4, Search 1', { exact: true }).waitFor();
    t.equal(
      await row.getByRole('link', { name: 'Requests made with Website' }).getAttribute('href'),
      `/usage?key_id=${key.id}#log`,
    );
  });

  await t.test("pointer and keyboard select another day in a key's row", async (t) => {
    const at = new Date(Date.now() - 2 * 86_400_000);
    const day = at.toISOString().slice(0, 10);
    const uncounted = new Date(at.getTime() - 86_400_000).toISOString().slice(0, 10);
    const today = new Date().toISOString().slice(0, 10);
    await database.db.insert(keyUsage).values([
      { accountId, day, keyId: key.id, meter: 'chat', used: 1300, requests: 1200 },
      { accountId, day, keyId: key.id, meter: 'images', used: 4, requests: 2 },
      { accountId, day, keyId: key.id, meter: 'tokens', used: 90_000 },
      { accountId, day: today, keyId: key.id, meter: 'images', used: 12_000, requests: 11_000 },
      { accountId, day: uncounted, keyId: key.id, meter: 'chat', used: 7 },
    ]);
    await page.reload();
    const shortDay = (before: number) =>
      new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(
        Date.now() - before * 86_400_000,
      );
    const row = page.getByRole('row', { name: /Website/ });
    const days = row.getByRole('slider', { name: 'Requests per day with Website, last 7 days' });
    await days.waitFor();
    const box = await days.boundingBox();
    const slot = (box?.width ?? 0) / 7;
    await days.click({ position: { x: slot * 4.5, y: 12 } });
    await row.getByText(`${shortDay(2)}: 1,202 requests`, { exact: true }).waitFor();
    await row.getByText('Units: Chat 1,300, Images 4', { exact: true }).waitFor();
    await days.press('ArrowLeft');
    await row.getByText(`${shortDay(3)}: requests unknown`, { exact: true }).waitFor();
    await days.press('ArrowRight');
    await days.press('ArrowRight');
    await row.getByText(`${shortDay(1)}: 0 requests`, { exact: true }).waitFor();
    await days.press('End');
    await row.getByText('Today: 11,005 requests', { exact: true }).waitFor();
    t.equal(
      await days.getAttribute('aria-valuetext'),
      'Today: 11,005 requests. Units: Chat 4, Images 12,000, Search 1',
    );
    await look(t, 'your-api-used');
    await fitsBetween(t, 'your-api-used');
  });

  await t.test('rotation keeps the old secret for a day, unless it is revoked early', async (t) => {
    await button('Rotate Website').click();
    t.ok(await dialog.getByLabel('after a day').isChecked());
    await button('Rotate key').click();
    await dialog.getByText('Copy the key now').waitFor();
    const next = await copied('key');
    await button('Done').click();
    await dialog.waitFor({ state: 'detached' });
    await text(/^Old secret works until .*\d\d:\d\d/).waitFor();
    await look(t, 'your-api-old-secret');
    await fitsBetween(t, 'your-api-old-secret');
    t.same([await statusOf(key.key), await statusOf(next)], [200, 200]);
    await button('Revoke now: the old secret of Website').click();
    await dialog.waitFor();
    await look(t, 'your-api-end-old-secret');
    await button('Revoke old secret').click();
    await dialog.waitFor({ state: 'detached' });
    t.equal(await text(/^Old secret works until/).count(), 0);
    t.same([await statusOf(key.key), await statusOf(next)], [401, 200]);
    await page.reload();
    await text('1 of 5 keys').waitFor();
    t.equal(await text(/^Old secret works until/).count(), 0);
  });

  await t.test('expired and revoked keys are shown on demand', async (t) => {
    await page.getByLabel('Show expired and revoked keys').check();
    await text('No expired or revoked keys.').waitFor();
    const { id } = await client.createKey({ cookie }, { name: 'Trial' });
    await database.db
      .update(apiKeys)
      .set({ createdAt: new Date(Date.now() - 2000), expiresAt: new Date(Date.now() - 1000) })
      .where(eq(apiKeys.id, id));
    await button('Revoke Website').click();
    await button('Revoke key').click();
    const ended = page.getByRole('list', { name: 'Expired and revoked keys' }).getByRole('listitem');
    await ended.filter({ hasText: 'Website' }).getByText('Revoked').waitFor();
    await page.reload();
    await page.getByLabel('Show expired and revoked keys').check();
    await ended.filter({ hasText: 'Trial' }).getByText('Expired').waitFor();
    t.equal(await ended.count(), 2);
    await look(t, 'your-api-inactive');
  });

  await t.test("relative days follow the reader's time zone", async (t) => {
    // 17:30 in the reader's zone, where the key expires at 00:30 on the day after tomorrow; in UTC, that is tomorrow.
    const noon = new Date(Date.now() + 86_400_000).setUTCHours(12, 0, 0, 0);
    const expires_at = new Date(noon + 31 * 3_600_000).toISOString();
    await client.createKey({ cookie }, { name: 'Soon', expires_at });
    await page.clock.setFixedTime(noon);
    await page.reload();
    const expires = page.getByRole('row', { name: /Soon/ }).locator(`time[datetime="${expires_at}"]`);
    t.equal(await expires.textContent(), 'in 2 days');
  });

  t.same(complaints, [], 'no console errors');
});
