// The chat's model picker says what each model can do and costs, as far as the operator said so.
import t from 'tap';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

t.setTimeout(1_800_000);

t.test('what models can do and cost', { skip: noDashboard }, async (t) => {
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
      // Not for chats.
      { name: 'vectors', task: 'embeddings', targets },
    ],
  });
  const { complaints, look, page } = await startDashboard(t, '/chat', env);
  const model = page.getByLabel('Model');
  await model.waitFor();
  t.same(await model.locator('option').allTextContents(), [
    'small · 1 reply each',
    'large · tools, images, structured output · 5 replies each',
    'costly · 2 replies each',
  ]);
  await model.selectOption('large');
  await page.getByText('For long documents. Context: 128,000 tokens.').waitFor();
  t.equal(await page.getByLabel('Your message').getAttribute('placeholder'), 'Message large');
  await look(t, 'chat-model-picker');
  t.same(complaints, [], 'nothing in the console');
});

t.test('the only model, too', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const targets = [{ upstream: 'a', model: 'test-model' }];
  const { env } = upstreamsFile({
    upstreams: [{ name: 'a', kind: 'openai', url: upstream.url }],
    models: [{ name: 'only', targets, units: 3, capabilities: ['tools'], description: 'For all.' }],
  });
  const { complaints, page } = await startDashboard(t, '/chat', env);
  await page.getByText('only · tools · 3 replies each').waitFor();
  await page.getByText('For all.').waitFor();
  t.same(complaints, [], 'nothing in the console');
});

t.test('a model that reasons before it answers', { skip: noDashboard }, async (t) => {
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
  t.same(complaints, [], 'nothing in the console');
});
