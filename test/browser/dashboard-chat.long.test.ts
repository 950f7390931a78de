// The web chat in a real browser, under the dashboard's strict content security policy.
import t from 'tap';
import { clipboardText } from '../support/browser.ts';
import { HOME, noDashboard, RESET, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

t.setTimeout(1_800_000);

/** The message, which the upstream repeats in its reply. */
const MARKDOWN = [
  'Two ways to call it:',
  '',
  '```bash',
  'curl https://parley.test/api/v1/chat -H "Authorization: Bearer $PARLEY_KEY" -H "Content-Type: application/json" -d \'{"message":"Hello"}\'',
  '```',
  '',
  '| Plan | Chat a day | Price |',
  '|---|--:|---|',
  '| Free | 50 | nothing |',
  '| Plus | 1,000 | 10.00 USD a month |',
  '',
  '1. **Create** a key in [Your API](https://parley.test/your-api).',
  '2. Send it as `Authorization`.',
  '',
  '![A picture](https://elsewhere.test/picture.png) <script>alert(1)</script>',
].join('\n');

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

/** Whether the center of the focused element is visible. */
const inFront = `(() => {
  const { activeElement: one } = document;
  const { bottom, left, right, top } = one.getBoundingClientRect();
  const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return one === document.body || (there !== null && (one.contains(there) || there.contains(one)));
})()`;

t.test('the chat streams replies and lists conversations', { skip: noDashboard }, async (t) => {
  const {
    button,
    chats,
    client,
    complaints,
    context,
    cookie,
    dialog,
    expectRefusals,
    look,
    page,
    cutChats,
    text,
  } = await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  const said = async () => (await page.getByRole('status').allTextContents()).join('\n');
  const ended = () => page.locator('[role=log][aria-busy=false]').waitFor();
  const path = () => new URL(page.url()).pathname;
  const focused = () => page.evaluate(`document.activeElement.getAttribute('aria-label')`);
  const ask = async (message: string) => {
    await field.fill(message);
    await field.press('Enter');
    await page.locator('textarea:placeholder-shown').waitFor();
  };

  await t.test('an empty chat shows the quota and suggestions, and has settings', async (t) => {
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    await text('8 of 8 replies left today').waitFor();
    await button('Explain how HTTP caching works, with an example.').waitFor();
    t.equal(
      await page.getByText('API key?').count(),
      0,
      'no sample is about Parley, which a model does not know',
    );
    t.equal(await focused(), 'Your message', 'the field has the focus');
    await look(t, 'chat-empty');
    await field.fill('a');
    await field.press('Shift+Enter');
    t.equal(await field.inputValue(), 'a\n');
    await button('Conversation settings').click();
    await dialog.getByLabel('Instructions').fill('Answer in a rhyme.');
    await dialog.getByLabel('Temperature').fill('9');
    await dialog.getByText('Enter a number from 0 to 2.').waitFor();
    await page.keyboard.press('Enter');
    t.equal(await dialog.getByLabel('Temperature').inputValue(), '9', 'the invalid value is kept');
    await look(t, 'chat-settings');
    await dialog.getByLabel('Temperature').fill('0.5');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.reload();
    await button('Conversation settings').waitFor();
    await look(t, 'chat-settings-set');
  });

  await t.test('a reply streams, and is announced once', async (t) => {
    await upstream.configure({ chunkIntervalMs: 400 });
    await ask(MARKDOWN);
    // The message of the user contains the text too.
    await log.getByText('Two ways').nth(1).waitFor();
    await page.waitForURL('**/chat/*');
    t.match(await log.getAttribute('aria-busy'), 'true');
    await look(t, 'chat-streaming');
    await upstream.configure({});
    await button('Stop').click();
    await text('You stopped the reply here.').waitFor();
    await ended();
    t.match(await said(), /The reply was stopped: You said: Two/, 'the stop is announced');
    t.equal(await focused(), 'Your message', 'the focus moves from the removed button to the field');
    const { last, open } = await upstream.calls();
    t.equal(open, 0, 'the upstream request is closed too');
    const settings = { temperature: 0.5, messages: [{ role: 'system', content: 'Answer in a rhyme.' }] };
    t.match(last.at(-1)?.body, settings, 'the request has the settings of the new chat');
    await look(t, 'chat-stopped');
    const listed = page.getByRole('complementary', { name: 'Conversations' }).getByRole('link');
    await listed.filter({ hasText: 'Two ways' }).waitFor();
    await text('7 of 8 replies left today').waitFor();
    await page.reload();
    await text('You stopped the reply here. It still counts toward your daily quota.').waitFor();
    await look(t, 'chat-stopped-stored');
    await button('Regenerate').click();
    await text('Send it as').last().waitFor({ timeout: 60_000 });
    await ended();
    t.equal(await log.getByRole('article').count(), 2, 'the new reply replaces the old one');
    const spoken = await said();
    t.match(spoken, /Reply ready: You said: Two ways to call it:\s+curl .*Create a key in Your API\./s);
    t.notMatch(spoken, /```|\*\*|\|/, 'without Markdown syntax');
    await text('6 of 8 replies left today').waitFor();
    await button('Copy code').last().click();
    t.match(await clipboardText(context, page), /^curl .*'$/);
    t.equal(await log.locator('img, script').count(), 0);
    await page.evaluate('scrollTo(0, 1e6)');
    await look(t, 'chat-answer');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: /Two ways/ }).waitFor();
    await log.getByRole('table').last().waitFor();
    t.equal(await log.getByRole('article').count(), 2);
  });

  await t.test('a retry after a lost connection is not charged twice', async (t) => {
    await upstream.configure({ chunkIntervalMs: 400 });
    await ask('one two three four five six seven eight nine ten');
    expectRefusals();
    await log.getByText('You said: one').waitFor();
    cutChats();
    await text('The connection was lost before the reply was complete.').waitFor();
    await look(t, 'chat-lost');
    await upstream.configure({});
    await button('Try again').click();
    await log.getByText('You said: one two three').waitFor();
    await ended();
    expectRefusals(0);
    await text('5 of 8 replies left today').waitFor();
    t.equal(chats.at(-1), chats.at(-2));
    t.equal(await log.getByRole('article').count(), 4);
  });

  const edited = page.getByLabel('Your edited message');

  await t.test('a message is edited in place, and Escape cancels the edit', async (t) => {
    await field.fill('half a thought');
    const question = log.getByRole('article').filter({ hasText: 'one two three' }).first();
    await question.getByRole('button', { name: 'Edit message' }).click();
    await text('It replaces the original and everything after it.').waitFor();
    t.match(await edited.inputValue(), /^one two three/);
    t.equal(await focused(), 'Your edited message');
    t.equal(
      await question.getByLabel('Your edited message').count(),
      1,
      'the field is in place of the message',
    );
    await look(t, 'chat-edit');
    await edited.fill('another thought');
    await page.keyboard.press('Escape');
    await edited.waitFor({ state: 'detached' });
    t.equal(await focused(), 'Edit message');
    t.equal(await question.getByText('another thought').count(), 0);
    t.equal(await field.inputValue(), 'half a thought', 'the draft of the next message is unchanged');
    await page.keyboard.press('Enter');
    t.match(await edited.inputValue(), /^one two three/);
    await page.locator('article').getByRole('button', { name: 'Cancel' }).click();
    await edited.waitFor({ state: 'detached' });
    await field.fill('');
  });

  await t.test(
    'an edited message replaces its turn and every later turn, including after a reload',
    async (t) => {
      await upstream.configure({});
      await button('Edit message').first().click();
      await edited.fill('Shorter, please.');
      await edited.press('Enter');
      await log.getByText('You said: Shorter, please.').waitFor();
      await ended();
      t.equal(await log.getByRole('article').count(), 2);
      await page.reload();
      await log.getByText('You said: Shorter, please.').waitFor();
      t.equal(await log.getByRole('article').count(), 2);
    },
  );

  await t.test('if regenerating fails, the reply stays, and a retry replaces it', async (t) => {
    await upstream.configure({ fault: 'status', status: 500 });
    expectRefusals();
    await button('Regenerate').click();
    await button('Try again').waitFor();
    t.equal(await log.getByText('You said: Shorter, please.').count(), 1);
    t.equal(await log.getByRole('article').count(), 4);
    t.match(await log.getByRole('article').last().textContent(), /Nothing was charged/);
    await upstream.configure({});
    await button('Try again').click();
    await button('Try again').waitFor({ state: 'detached' });
    await ended();
    expectRefusals(0);
    t.equal(await log.getByRole('article').count(), 2);
  });

  await t.test('the view follows the end until the reader scrolls up', async (t) => {
    await upstream.configure({ chunks: 1000, chunkSize: 30, chunkIntervalMs: 30 });
    await ask('Tell me a lot.');
    const offset = () =>
      page.evaluate<number>(
        'document.documentElement.scrollHeight - innerHeight - document.documentElement.scrollTop',
      );
    const height = () => page.evaluate<number>('document.documentElement.scrollHeight');
    await button('Scroll to the end').click();
    const before = await height();
    await eventually('the page has grown', async () => (await height()) >= before + 800);
    t.ok((await offset()) < 200, 'the view follows the end');
    await page.mouse.wheel(0, -1500);
    await button('Scroll to the end').waitFor();
    const length = async () => ((await log.textContent()) ?? '').length;
    const earlier = await length();
    await eventually('the reply has grown', async () => (await length()) > earlier + 500);
    t.ok((await offset()) > 500, 'the view has stayed');
    // A position that does not depend on the length of the reply: axe reports buttons that the composer partly covers.
    await page.evaluate('scrollTo(0, 0)');
    await look(t, 'chat-away');
    await button('Scroll to the end').click();
    t.ok((await offset()) < 300);
    await page.keyboard.press('Escape');
    await text('You stopped the reply here.').waitFor();
    await upstream.configure({});
  });

  await t.test('conversations are searched, opened, edited, and deleted', async (t) => {
    await button('New chat').click();
    await page.waitForURL('**/chat');
    await ask('How many keys may I have?');
    await ended();
    await page.waitForURL('**/chat/*');
    const list = page.getByRole('complementary', { name: 'Conversations' });
    await list.getByRole('link', { name: 'How many keys' }).waitFor();
    t.equal(await list.getByRole('link').count(), 2);
    t.match(
      await list.getByRole('link').first().textContent(),
      /(just now|ago)$/,
      'the row shows the time of last use',
    );
    const [title, row] = [list.getByText('How many keys'), list.getByRole('listitem').first()];
    const [wide, whole] = [(await title.boundingBox())?.width, (await row.boundingBox())?.width];
    t.ok((wide ?? 0) > (whole ?? 0) - 32, `the title fills the row: ${wide} of ${whole} px`);
    await look(t, 'chat-conversations');
    await list.getByLabel('Search conversations').fill('WAYS');
    await eventually('one conversation is found', async () => (await list.getByRole('link').count()) === 1);
    await list.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: /Two ways/ }).waitFor();
    await list.getByLabel('Search conversations').fill('');
    await page.setViewportSize({ width: 390, height: 844 });
    await button(/^Conversations$/).click();
    await dialog.getByRole('link', { name: 'How many keys' }).waitFor();
    await look(t, 'chat-list-dialog');
    await page.setViewportSize({ width: 390, height: 844 });
    await dialog.getByRole('link', { name: 'How many keys' }).click();
    await page.getByRole('heading', { level: 1, name: /How many keys/ }).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    await list.getByLabel('Search conversations').fill('have how');
    await list.getByText('How many keys may I have?').nth(1).waitFor();
    t.same(await list.locator('mark').allTextContents(), ['How', 'have', 'How', 'have']);
    await look(t, 'chat-search');
    await list.getByLabel('Search conversations').fill('nothing like it');
    await list.getByText('No matching conversations.').waitFor();
    await list.getByLabel('Search conversations').fill('');
    await list.getByRole('button', { name: /^Edit “Two ways/ }).click();
    t.equal(await dialog.getByLabel('Instructions').inputValue(), 'Answer in a rhyme.');
    t.equal(await dialog.getByLabel('Temperature').inputValue(), '0.5');
    await dialog.getByLabel('Title').fill('A new name');
    await dialog.getByLabel('Pin to the top of the list').check({ force: true });
    await dialog.getByLabel('Instructions').fill('Be brief.');
    await look(t, 'chat-edit');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    t.match(
      await list.getByRole('link').first().textContent(),
      /A new name/,
      'the pinned conversation is above the newer one',
    );
    await list.getByRole('button', { name: 'Edit “A new name”' }).click();
    t.equal(await dialog.getByLabel('Instructions').inputValue(), 'Be brief.');
    for (const [label, refused, sentence] of [
      ['Title', { title: 'a'.repeat(121) }, 'Enter a title of 1 to 120 characters.'],
      ['Instructions', { instructions: 'a'.repeat(100_001) }, 'Enter at most 100,000 characters.'],
      ['Temperature', { temperature: 3 }, 'Enter a number from 0 to 2.'],
    ] as const) {
      await page.route('**/api/v1/conversations/*', async (route) => {
        const body = route.request().postDataJSON();
        await route.continue(body && { postData: JSON.stringify({ ...body, ...refused }) });
      });
      expectRefusals(1);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText(sentence).waitFor();
      await dialog.getByLabel(label).and(page.locator('[aria-invalid=true]:focus')).waitFor();
      await page.unroute('**/api/v1/conversations/*');
    }
    expectRefusals(0);
    await dialog.getByLabel('Instructions').fill('');
    await dialog.getByLabel('Title').fill('Two ways of it');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await list.getByRole('button', { name: /Delete “How many/ }).click();
    await dialog.waitFor();
    await look(t, 'chat-delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.waitFor({ state: 'detached' });
    t.equal(path(), '/chat');
    t.equal(await list.getByRole('link').count(), 1);
  });

  await t.test('a missing conversation and a failed upstream are explained', async (t) => {
    expectRefusals(1);
    await page.goto(`${HOME}/chat/01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f`);
    await page.getByRole('heading', { name: 'Conversation not found' }).waitFor();
    await look(t, 'chat-not-found');
    await upstream.configure({ fault: 'status', status: 500 });
    await page.goto(`${HOME}/chat`);
    expectRefusals(1);
    await field.fill('Is anybody there?');
    await field.press('Enter');
    await page.getByRole('alert').waitFor();
    t.match(await page.getByRole('alert').textContent(), /Nothing was charged.*Request ID [0-9a-f-]{36}/);
    t.equal(await text('charged twice').count(), 0);
    await look(t, 'chat-failed');
    await upstream.configure({});
    expectRefusals(0);
  });

  await t.test('a used-up quota disables sending, and the chat says when it resets', async (t) => {
    await page.goto(`${HOME}/chat`);
    await text('left today, across the web and the API').waitFor();
    for (let left = 4; left > 0; left -= 1) {
      const answer = await client.post('/chat', { message: `Question ${left}` }, { cookie });
      if (answer.status !== 200) break;
    }
    expectRefusals(1);
    await field.fill('Is there one left?');
    await field.press('Enter');
    await text("Today's remaining quota does not cover this message").waitFor();
    await text("Today's replies are used up").waitFor();
    await text(`at ${RESET}, in `).waitFor();
    t.equal(await button('Try again').count(), 0, 'a retry is not offered');
    expectRefusals(0);
    await field.fill('One more?');
    t.ok(await button('Send').isDisabled());
    await look(t, 'chat-out-of-quota');
  });

  t.same(complaints, [], 'no console errors');
});

t.test('sample messages suit the engine that replies', { skip: noDashboard }, async (t) => {
  const aboutAnything = 'Write a haiku about the sea.';
  const aboutParley = 'How do I create a key?';
  for (const [env, shown, other] of [
    [{ CHAT_URL: upstream.url }, aboutAnything, aboutParley],
    [{}, aboutParley, aboutAnything],
  ] as const) {
    const { page } = await startDashboard(t, '/', env);
    await page.getByText(shown).first().waitFor();
    t.equal(await page.getByText(other).count(), 0, shown);
    // Until the dashboard knows the engine, no sample is about Parley.
    await page.route('**/api/v1/service', () => {});
    await page.reload();
    await page.getByText(aboutAnything).first().waitFor();
    t.equal(await page.getByText(aboutParley).count(), 0);
  }
});

t.test('without a language model, the built-in engine replies', { skip: noDashboard }, async (t) => {
  const { button, complaints, look, page, text } = await startDashboard(t, '/chat');
  await text('No language model is connected').waitFor();
  await button('How do I create an API key?').click();
  await page.locator('[role=log][aria-busy=false]').getByRole('article').nth(1).waitFor();
  await page.waitForURL('**/chat/*');
  await look(t, 'chat-builtin');
  await page.setViewportSize({ width: 390, height: 844 });
  await page.evaluate('scrollTo(0, 0)');
  await page.getByRole('heading', { level: 1 }).focus();
  for (const direction of ['Tab', 'Shift+Tab']) {
    for (let step = 0; step < 20; step += 1) {
      await page.keyboard.press(direction);
      const place = await page.evaluate('document.activeElement.textContent');
      if (!(await page.evaluate(inFront))) t.fail(`${direction}, ${place}: covered by a sticky element`);
    }
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await page.getByLabel('Your message').focus();
  }
  t.same(complaints, [], 'no console errors');
});
