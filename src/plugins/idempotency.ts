/** Replays the earlier response with the same `Idempotency-Key`, before any lookup or charge. Contract section 10. */
import { Type } from '@sinclair/typebox';
import fp from 'fastify-plugin';
import { type Retry, retryOf } from '../ledger/idempotency.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { replayTo } from '../requests/replay.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if the request has no idempotency key. */
    retry: Retry | null;
  }
}

const headers = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]*$',
      description:
        'Makes retries safe: for 24 hours, the same key and body return the first response and are charged once. 1 to 255 visible ASCII characters. Use a random UUID for each new request.',
      examples: ['5e3f3a52-7c0b-4b1c-9a55-0d6a1f8c7f11'],
    }),
  ),
});

export default fp<{ ledger: Ledger }>(
  async (app, { ledger }) => {
    app.decorateRequest('retry', null);
    app.addHook('onRoute', (route) => {
      if (route.config?.meter !== undefined) route.schema = { ...route.schema, headers };
    });

    app.addHook('preHandler', async (request, reply) => {
      const { caller, headers: sent, method, routeOptions } = request;
      const key = sent['idempotency-key'];
      if (typeof key !== 'string' || routeOptions.config.meter === undefined) return;
      request.retry = retryOf(key, `${method} ${routeOptions.url}`, request.body);
      const replay = await ledger.findReplay(caller, request.retry);
      if (replay !== undefined) return replayTo(request, reply, replay);
    });
  },
  { name: 'idempotency', dependencies: ['services', 'caller-guard'] },
);
