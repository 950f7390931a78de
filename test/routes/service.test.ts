import t from 'tap';
import { version } from '../../src/project.ts';
import { onEachDatabase, startTestService } from '../support/service.ts';

// An empty PLANS_FILE counts as unset, so the built-in plans apply.
onEachDatabase(t, { PLANS_FILE: '' }, async (t, { client }) => {
  await t.test('GET /service 200: has the version, sign-up and billing modes, and engines', async (t) => {
    t.match(await client.get('/service'), {
      status: 200,
      body: {
        version,
        signups: 'open',
        billing: 'open',
        operator_contact: null,
        engine: { chat: 'builtin', search: 'builtin', default_model: 'parley-builtin' },
      },
    });
  });

  await t.test(
    'GET /plans 200: has prices in cents, with yearly plans 17% cheaper, and limits',
    async (t) => {
      const { body, status } = await client.get('/plans');
      t.equal(status, 200);
      t.match(body.data, [
        {
          id: 'free',
          monthly_price_cents: 0,
          yearly_price_cents: 0,
          limits: { chat: 50, images: 5, search: 50, embeddings: 1000 },
          requests_per_minute: 20,
        },
        {
          id: 'plus',
          monthly_price_cents: 1000,
          yearly_price_cents: 9960,
          limits: { chat: 1000, images: 50, search: 500, embeddings: 50_000 },
          requests_per_minute: 60,
        },
        {
          id: 'pro',
          monthly_price_cents: 3000,
          yearly_price_cents: 29880,
          limits: { chat: 10_000, images: 500, search: 5000, embeddings: 500_000 },
          requests_per_minute: 300,
        },
      ]);
    },
  );
});

t.test("GET /service 200: reflects the operator's configuration", async (t) => {
  const { client } = await startTestService(t, 'postgres', {
    PUBLIC_URL: 'https://chat.example.com',
    SIGNUPS: 'closed',
    OPERATOR_CONTACT: 'ops@example.com',
  });
  t.match((await client.get('/service')).body, {
    signups: 'closed',
    billing: 'managed',
    operator_contact: 'ops@example.com',
  });
});
