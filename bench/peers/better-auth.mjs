/** better-auth's API keys with a counter: verifying a key decrements its remaining uses. The response is fixed. */
import { apiKey } from '@better-auth/api-key';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import fastify from 'fastify';
import pg from 'pg';

const options = {
  database: new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 }),
  secret: 'a secret of the benchmark, 32 characters or more',
  baseURL: 'http://127.0.0.1',
  emailAndPassword: { enabled: true },
  telemetry: { enabled: false },
  plugins: [apiKey({ rateLimit: { enabled: false } })],
};
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const { user } = await auth.api.signUpEmail({
  body: { name: 'Bench', email: 'bench@example.com', password: 'correct horse battery' },
});
const { key } = await auth.api.createApiKey({ body: { userId: user.id, remaining: 1_000_000_000 } });

const app = fastify();
const completion = {
  id: 'chatcmpl-0',
  object: 'chat.completion',
  created: 1_763_596_800,
  model: 'bare',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Press Create key. ' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 12, completion_tokens: 80, total_tokens: 92 },
};
app.post('/api/v1/chat/completions', async (request, reply) => {
  const sent = request.headers.authorization?.slice('Bearer '.length) ?? '';
  const { valid } = await auth.api.verifyApiKey({ body: { key: sent } });
  return valid ? completion : reply.code(401).send({});
});

await app.listen({ port: 0, host: '127.0.0.1' });
process.send({ port: app.server.address().port, headers: { authorization: `Bearer ${key}` } });
process.on('disconnect', () => process.exit());
