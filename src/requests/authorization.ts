/** The `Authorization` header: a Bearer credential is ours, other schemes are for proxies in front. Contract section 3. */
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';

/** The scheme ends where a character follows that no scheme can have. */
const bearerScheme = /^bearer(?![!#$%&'*+\-.^_`|~0-9a-z])/i;

/** Whether a request carries a Bearer credential, well-formed or not. */
export const hasBearer = ({ headers }: FastifyRequest): boolean =>
  bearerScheme.test(headers.authorization ?? '');

/**
 * The Bearer credential of a request.
 *
 * @returns undefined where there is none: no header, or one of another scheme
 * @throws ApiError `invalidApiKey` where it is malformed
 */
export function bearerCredential(request: FastifyRequest): string | undefined {
  if (!hasBearer(request)) return undefined;
  const [, credential] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (credential !== undefined) return credential;
  throw new ApiError('invalidApiKey', {
    message: 'The `Authorization` header does not have the form `Bearer <API_KEY>`.',
  });
}
