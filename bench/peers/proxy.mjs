/**
 * The baseline for rows with an upstream: a Fastify route that forwards the request with undici and returns the response. Like
 * any gateway that reads the model, it parses and reserializes the body. It does not authenticate, count, or log.
 */
import fastify from 'fastify';
import { Pool } from 'undici';

const { origin, pathname } = new URL(process.env.UPSTREAM_URL);
const upstream = new Pool(origin, { connections: 1000 });
const app = fastify({ bodyLimit: 20 * 1024 * 1024 });

const proxied = async (request, reply) => {
  const { body, headers, statusCode } = await upstream.request({
    path: `${pathname}/chat/completions`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  reply.code(statusCode).header('content-type', headers['content-type']);
  return request.body.stream === true ? reply.send(body) : reply.send(Buffer.from(await body.arrayBuffer()));
};
for (const path of ['/chat/completions', '/responses', '/messages']) app.post(`/api/v1${path}`, proxied);

await app.listen({ port: 0, host: '127.0.0.1' });
process.send(app.server.address().port);
process.on('disconnect', () => process.exit());
