/** Reads Bearer credentials. Other `Authorization` schemes are for proxies in front. Contract section 3. */
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';

/** The scheme ends at the first character that is not allowed in a scheme. */
const bearerScheme = /^bearer(?![!#$%&'*+\-.^_`|~0-9a-z])/i;

/** Whether a request carries a Bearer credential, well-formed or not. */
export const hasBearer = ({ headers }: FastifyRequest): boolean =>
  bearerScheme.test(headers.authorization ?? '');

/** Returns undefined without a header or with another scheme. Throws ApiError `invalidApiKey` if it is malformed. */
export function bearerCredential(request: FastifyRequest): string | undefined {
  if (!hasBearer(request)) return undefined;
  const [, credential] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (credential !== undefined) return credential;
  throw new ApiError('invalidApiKey', {
    message: 'The `Authorization` header is malformed. Send `Authorization: Bearer <API_KEY>`.',
  });
}
