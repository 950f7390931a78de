/** Records a span for each API request, if spans are exported. Contract section 17. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Span, Tracer } from '../telemetry/tracer.ts';
import { traceOf } from '../telemetry/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if no span is recorded. */
    span: Span | null;
  }
}

const API = '/api/v1/';

function end(span: Span, { raw, statusCode }: FastifyReply): void {
  const isWhole = raw.writableFinished;
  if (raw.headersSent) span.set({ 'http.response.status_code': statusCode });
  if (!isWhole) span.event('connection closed before the end of the response');
  if (statusCode >= 500) span.fail(String(statusCode));
  span.end();
}

/** Omits `url.path`, because clients put API keys there. */
const attributesOf = ({ id, method, routeOptions }: FastifyRequest) => ({
  'http.request.method': method,
  'http.route': routeOptions.url,
  'parley.request_id': id,
});

export default fp<{ tracer: Tracer | undefined }>(
  async (app, { tracer }) => {
    app.decorateRequest('span', null);
    if (tracer === undefined) return;

    app.addHook('onRequest', (request, reply, done) => {
      const { headers, id, method, routeOptions } = request;
      if (routeOptions.url?.startsWith(API)) {
        const name = `${method} ${routeOptions.url}`;
        const span = tracer.start('server', name, traceOf(headers, id), attributesOf(request));
        request.span = span;
        reply.raw.once('close', () => end(span, reply));
      }
      done();
    });
    app.addHook('onReady', (done) => {
      tracer.reportTo(app.log);
      done();
    });
  },
  { name: 'spans' },
);
