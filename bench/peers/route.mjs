/** The baseline for rows without an upstream: Fastify routes that return a fixed response without any checks. */
import fastify from 'fastify';

const app = fastify();
const completion = {
  id: 'chatcmpl-0',
  object: 'chat.completion',
  created: 1_763_596_800,
  model: 'bare',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Open "Your API" and press Create key. '.repeat(8) },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 12, completion_tokens: 80, total_tokens: 92 },
};
const result = { title: 'Create an API key', url: 'http://localhost/docs', snippet: 'A key. '.repeat(30) };

app.get('/api/v1/models', async () => ({
  object: 'list',
  data: [{ id: 'bare', object: 'model', created: 1_763_596_800, owned_by: 'bare' }],
}));
app.get('/api/v1/usage', async () => ({
  plan: 'bench',
  used: { chat: 1, images: 0, search: 0, tokens: 311 },
  limits: { chat: 1_000_000_000, images: null, search: null },
  resetsAt: '2026-01-02T00:00:00.000Z',
}));
app.post('/api/v1/chat/completions', async () => completion);
app.post('/api/v1/search', async () => ({ object: 'list', data: Array(10).fill(result) }));

await app.listen({ port: 0, host: '127.0.0.1' });
process.send(app.server.address().port);
process.on('disconnect', () => process.exit());
