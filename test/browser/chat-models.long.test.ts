// The chat's model picker shows the capabilities and the cost of each model, if the operator has configured them.
import t from 'tap';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { fillConversation } from '../support/dashboard-volume.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(1_800_000);

t.test('the picker shows the capabilities and the cost of models', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const targets = [{ upstream: 'a', model: 'test-model' }];
  const { env } = upstreamsFile({
    upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
    models: [
      { name: 'small', targets },
      {
        name: 'large',
        targets,
        units: 5,
        capabilities: ['tools', 'images', 'json_schema'],
        description: 'For long documents.',
        contextTokens: 128_000,
      },
      { name: 'costly', targets, units: 2 },
      // Not a chat model.
      { name: 'vectors', task: 'embeddings', targets },
    ],
  });
  const { atBothSizes, complaints, look, page } = await startDashboard(t, '/chat', env);
  const model = page.getByLabel('Model');
  await model.waitFor();
  t.same(await model.locator('option').allTextContents(), [
    'small · counts as 1 reply',
    'large · tools, images, structured output · counts as 5 replies',
    'costly · counts as 2 replies',
  ]);
  await model.selectOption('large');
  const details = page.getByText(
    'tools, images, structured output · counts as 5 replies · For long documents. Context: 128,000 tokens.',
    { exact: true },
  );
  await details.waitFor();
  await atBothSizes(async (size) =>
    t.ok(
      await details.evaluate((line) => line.scrollHeight <= line.clientHeight + 1),
      `${size}: the details are not cut off`,
    ),
  );
  t.equal(await page.getByLabel('Your message').getAttribute('placeholder'), 'Message large');
  await look(t, 'chat-model-picker');
  t.same(complaints, [], 'no console errors');
});

t.test('the chat also shows the details of the only model', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const targets = [{ upstream: 'a', model: 'test-model' }];
  const { env } = upstreamsFile({
    upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
    models: [{ name: 'only', targets, units: 3, capabilities: ['tools'], description: 'For all.' }],
  });
  const { complaints, page } = await startDashboard(t, '/chat', env);
  await page.getByText('only', { exact: true }).waitFor();
  await page.getByText('tools · counts as 3 replies · For all.', { exact: true }).waitFor();
  t.same(complaints, [], 'no console errors');
});

t.test('the chat says that a model reasons, and hides the reasoning', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { complaints, look, page } = await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
  const chunk = (delta: Record<string, string>, finish: string | null = null) =>
    JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] });
  await upstream.configure({
    chunkIntervalMs: 250,
    events: [
      chunk({ role: 'assistant', content: '' }),
      ...Array.from({ length: 24 }, () => chunk({ reasoning_content: 'Hm. ' })),
      chunk({ content: 'An answer.' }),
      chunk({}, 'stop'),
      '[DONE]',
    ],
  });
  const log = page.getByRole('log');
  await page.getByLabel('Your message').fill('Why?');
  await page.getByLabel('Your message').press('Enter');
  await log.getByText('Thinking…', { exact: true }).waitFor();
  t.match((await page.getByRole('status').allTextContents()).join(' '), /The model is thinking\./);
  await look(t, 'chat-thinking');
  await log.getByText('An answer.').waitFor();
  await page.locator('[role=log][aria-busy=false]').waitFor();
  t.equal(await log.getByText(/Thinking|Hm/).count(), 0, 'the reasoning is not shown');
  t.same(complaints, [], 'no console errors');
});

t.test('each conversation keeps its model', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const targets = [{ upstream: 'a', model: 'test-model' }];
  const { env } = upstreamsFile({
    upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
    models: [
      { name: 'vision-pro', targets, capabilities: ['images'], units: 2 },
      { name: 'fast', targets, capabilities: ['tools'] },
      { name: 'other', targets, capabilities: ['tools'] },
    ],
  });
  const { accountId, button, complaints, database, page } = await startDashboard(t, '/chat', env);
  const model = page.getByLabel('Model', { exact: true });
  const field = page.getByLabel('Your message');
  const list = page.getByRole('complementary', { name: 'Conversations' });
  const chats: { model?: string }[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/api/v1/chat') chats.push(request.postDataJSON());
  });
  const ask = async (message: string) => {
    await field.fill(message);
    await field.press('Enter');
    await page.getByRole('log').getByText(`You said: ${message}`, { exact: true }).waitFor();
    await button('Regenerate').waitFor();
  };
  const regenerate = async () => {
    await Promise.all([page.waitForResponse(`${HOME}/api/v1/chat`), button('Regenerate').click()]);
    await button('Regenerate').waitFor();
  };
  const open = async (title: string) => {
    await list.getByRole('link', { name: title }).click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    await page.getByRole('log').getByText(`You said: ${title}`, { exact: true }).waitFor();
  };

  await t.test('the model of its last reply is selected, also for Regenerate', async (t) => {
    await model.selectOption('fast');
    await ask('The first');
    await button('New chat').click();
    await page.waitForURL('**/chat');
    await model.selectOption('vision-pro');
    await ask('The second');
    await open('The first');
    t.equal(await model.inputValue(), 'fast');
    t.equal(await field.getAttribute('placeholder'), 'Message fast');
    await page.reload();
    await button('Regenerate').waitFor();
    t.equal(await model.inputValue(), 'fast', 'also after a reload');
    await regenerate();
    t.same(
      chats.map((chat) => chat.model),
      ['fast', 'vision-pro', 'fast'],
    );
    await open('The second');
    t.equal(await model.inputValue(), 'vision-pro');
    await button('Attach images').waitFor();
  });

  await t.test('a selection applies to the open conversation and to new chats', async (t) => {
    await open('The first');
    await model.selectOption('other');
    await open('The second');
    t.equal(await model.inputValue(), 'vision-pro');
    await open('The first');
    t.equal(await model.inputValue(), 'other', 'the selection is kept until a message is sent');
    await button('New chat').click();
    await page.waitForURL('**/chat');
    t.equal(await model.inputValue(), 'other');
    await open('The first');
    await regenerate();
    t.equal(chats.at(-1)?.model, 'other');
  });

  await t.test('a selection during the first reply stays with its conversation', async (t) => {
    await button('New chat').click();
    await page.waitForURL('**/chat');
    await upstream.configure({ firstChunkDelayMs: 3000 });
    await field.fill('The third');
    await field.press('Enter');
    await page.locator('[role=log][aria-busy=true]').waitFor();
    await model.selectOption('fast');
    await page.waitForURL('**/chat/*');
    await button('Regenerate').waitFor();
    await upstream.configure({});
    t.equal(chats.at(-1)?.model, 'other');
    t.equal(await model.inputValue(), 'fast');
  });

  await t.test('if its model is no longer served, the model for new chats is selected', async (t) => {
    // The reply is from a model that is not served.
    const id = await fillConversation(database.db, accountId, 'An old one', 2);
    await page.goto(`${HOME}/chat/${id}`);
    await page.getByRole('article').nth(1).waitFor();
    t.equal(await model.inputValue(), 'fast');
  });
  t.same(complaints, [], 'no console errors');
});
