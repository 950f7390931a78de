// A conversation of any length can be downloaded as Markdown and as JSON.
import t from 'tap';
import { savedFile } from '../support/browser.ts';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';

t.setTimeout(1_800_000);

t.test('a conversation can be downloaded as Markdown or JSON', { skip: noDashboard }, async (t) => {
  const { button, client, complaints, cookie, database, dialog, expectRefusals, look, page, setBetween } =
    await startDashboard(t, '/settings');
  const { body } = await client.post('/chat', { message: 'What is a scope?' }, { cookie });
  const id: string = body.conversation_id;
  await client.patch(
    `/conversations/${id}`,
    { title: 'Scopes & keys: a café', instructions: 'Be brief.' },
    { cookie },
  );
  // More messages than the API returns in one page.
  await database.db.execute(`
    insert into messages (account_id, conversation_id, id, position, role, content, model, created_at)
    select account_id, conversation_id, gen_random_uuid(), n, case n % 2 when 1 then 'user' else 'assistant' end,
           'Message ' || n, case n % 2 when 0 then 'parley-builtin' end, now()
    from messages, generate_series(3, 700) n where position = 1`);
  const expected = Array.from({ length: 698 }, (_, index) => `Message ${index + 3}`);

  await page.goto(`${new URL(page.url()).origin}/chat/${id}`);
  await button('Download conversation').click();
  await look(t, 'chat-download');

  await t.test('the Markdown file contains the speakers and the instructions', async (t) => {
    const saved = await savedFile(page, () => dialog.getByRole('button', { name: 'Markdown' }).click());
    t.equal(saved.name, 'Scopes-keys-a-café.md');
    t.match(
      saved.text,
      /^# Scopes & keys: a café\n\nStarted \w{3} \d{1,2}, \d{4}, \d\d:\d\d\n\n## Instructions\n\nBe brief\.\n\n## You\n\nWhat is a scope\?\n\n## parley-builtin\n/,
    );
    t.same(saved.text.match(/^Message \d+$/gm), expected);
    await dialog.waitFor({ state: 'detached' });
  });

  await t.test('the JSON file has the format of the API', async (t) => {
    await button('Download conversation').click();
    const saved = await savedFile(page, () => dialog.getByRole('button', { name: 'JSON' }).click());
    t.equal(saved.name, 'Scopes-keys-a-café.json');
    const { messages, ...rest } = JSON.parse(saved.text);
    t.match(rest, { id, title: 'Scopes & keys: a café', instructions: 'Be brief.' });
    t.notOk('next_cursor' in rest);
    t.same(
      messages.slice(2).map(({ content }: { content: string }) => content),
      expected,
    );
  });

  await t.test('a failed download shows an error and can be retried', async (t) => {
    setBetween({ breaks: '/api/v1/conversations/' });
    await button('Download conversation').click();
    expectRefusals();
    await dialog.getByRole('button', { name: 'JSON' }).click();
    await dialog.getByRole('alert').waitFor();
    setBetween({});
    const saved = await savedFile(page, () => dialog.getByRole('button', { name: 'JSON' }).click());
    t.match(saved.name, /\.json$/);
  });

  t.same(complaints, []);
});
