import type { FastifyRequest } from 'fastify';
import { type ApiError, anthropicEnvelope, type Envelope, errorEnvelope } from '../errors.ts';
import { isOfAnthropic } from './anthropic.ts';

/** The body of an error, in the format of the client's API. Contract sections 6 and 14. */
export const envelopeFor = (
  request: Pick<FastifyRequest, 'headers' | 'id' | 'routeOptions' | 'server' | 'url'>,
  error: ApiError,
  publicUrl = request.server.config.publicUrl,
): Envelope =>
  isOfAnthropic(request)
    ? anthropicEnvelope(error, request.id, publicUrl)
    : errorEnvelope(error, request.id, publicUrl);
