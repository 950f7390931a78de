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
    'small',
    'large · tools, images, structured output · 5 replies each',
    'costly · 2 replies each',
  ]);
  await model.selectOption('large');
  t.equal(await model.getAttribute('title'), 'For long documents.');
  await look(t, 'chat-model-picker');
  t.same(complaints, [], 'nothing in the console');
});
