/**
 * Reads credentials. It ignores other `Authorization` schemes, and `x-api-key` outside Anthropic's API: both may be for
 * a proxy in front. Contract sections 3 and 14.
 */
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { isOfAnthropic } from './anthropic.ts';

/** Matches the scheme up to the first character that a scheme cannot contain. */
const bearerScheme = /^bearer(?![!#$%&'*+\-.^_`|~0-9a-z])/i;

/** Whether a request carries a Bearer credential, well-formed or not. */
export const hasBearer = ({ headers }: FastifyRequest): boolean =>
  bearerScheme.test(headers.authorization ?? '');

/** Returns undefined without a credential. Throws ApiError `invalidApiKey` if the header is malformed. */
export function bearerCredential(request: FastifyRequest): string | undefined {
  if (!hasBearer(request)) return undefined;
  const [, credential] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (credential !== undefined) return credential;
  throw new ApiError('invalidApiKey', {
    message: 'The `Authorization` header is malformed. Send `Authorization: Bearer <API_KEY>`.',
  });
}

/** Ignores an empty header, which clients send if a variable is empty. */
function headerCredential(request: FastifyRequest): string | undefined {
  const { 'x-api-key': key } = request.headers;
  return typeof key === 'string' && key !== '' && isOfAnthropic(request) ? key : undefined;
}

/**
 * Reads the API key from either header; undefined if there is none.
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
