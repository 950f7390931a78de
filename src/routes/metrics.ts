/** `/metrics`, for holders of `METRICS_TOKEN`, or if it is unset, for this machine. Contract section 17. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { isLoopback } from '../limits/address.ts';
import { bearerCredential } from '../requests/credentials.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Membership } from '../workers/membership.ts';

const digest = (text: string) => createHash('sha256').update(text).digest();

/** A proxy on this machine also connects from loopback, on behalf of any client. */
const isForwarded = ({ headers }: FastifyRequest) =>
  (headers.forwarded ?? headers['x-forwarded-for'] ?? headers['x-real-ip'] ?? headers.via) !== undefined;

type Options = { membership: Membership | undefined; metrics: Metrics };

const routes: FastifyPluginAsyncTypebox<Options> = async (app, { membership, metrics }) => {
  const { metricsToken } = app.config;
  const expected = metricsToken === undefined ? undefined : digest(metricsToken);

  function check(request: FastifyRequest): void {
    if (expected === undefined) {
      if (isLoopback(request.socket.remoteAddress ?? '') && !isForwarded(request)) return;
      throw new ApiError('notFound', {
        message:
          'Without METRICS_TOKEN, metrics can be read only from the machine that runs the service, and not through a proxy.',
      });
    }
    const token = bearerCredential(request);
    if (token !== undefined && timingSafeEqual(digest(token), expected)) return;
    throw new ApiError(token === undefined ? 'missingCredentials' : 'invalidApiKey', {
      message: 'Send the METRICS_TOKEN of this service as a Bearer token.',
    });
  }

  app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    check(request);
    return reply
      .type(metrics.contentType)
      .header('cache-control', 'no-store')
      .send((await membership?.primary.ask('readMetrics')) ?? (await metrics.text()));
  });
};

export default routes;
