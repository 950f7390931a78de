/**
 * Reads credentials. Other `Authorization` schemes, and `x-api-key` where no client of Anthropic's API calls, are for
 * proxies in front. Contract sections 3 and 14.
 */
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { isOfAnthropic } from './anthropic.ts';

/** The scheme ends at the first character that is not allowed in a scheme. */
const bearerScheme = /^bearer(?![!#$%&'*+\-.^_`|~0-9a-z])/i;

/** Whether a request carries a Bearer credential, well-formed or not. */
export const hasBearer = ({ headers }: FastifyRequest): boolean =>
  bearerScheme.test(headers.authorization ?? '');

/** Undefined without one. Throws ApiError `invalidApiKey` if the header is malformed. */
export function bearerCredential(request: FastifyRequest): string | undefined {
  if (!hasBearer(request)) return undefined;
  const [, credential] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (credential !== undefined) return credential;
  throw new ApiError('invalidApiKey', {
    message: 'The `Authorization` header is malformed. Send `Authorization: Bearer <API_KEY>`.',
  });
}

/** Empty headers do not count: clients send them if a variable is set to nothing. */
function headerCredential(request: FastifyRequest): string | undefined {
  const { 'x-api-key': key } = request.headers;
  return typeof key === 'string' && key !== '' && isOfAnthropic(request) ? key : undefined;
}

/**
 * The key of a request, from either header; undefined without one.
 *
 * @throws ApiError `invalidApiKey` if the `Authorization` header is malformed; `invalidRequest` for two different keys
 */
export function keyCredential(request: FastifyRequest): string | undefined {
  const bearer = bearerCredential(request);
  const key = headerCredential(request);
  if (bearer !== undefined && key !== undefined && bearer !== key)
    throw new ApiError('invalidRequest', {
      message: 'The `Authorization` and `x-api-key` headers contain different keys. Send only one of them.',
    });
  return bearer ?? key;
}

export const missingCredentials = (request: FastifyRequest): ApiError =>
  new ApiError(
    'missingCredentials',
    isOfAnthropic(request)
      ? {
          message:
            'This endpoint requires an API key. Send it as `x-api-key: <API_KEY>` or as `Authorization: Bearer <API_KEY>`.',
        }
      : {},
  );
