import type { FastifyError } from 'fastify';
import { isUnavailable } from '../database/client.ts';
import { ApiError } from '../errors.ts';
import { validationDetails } from '../validation/validators.ts';

const fastifyErrors: Record<string, () => ApiError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new ApiError('unsupportedMediaType'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new ApiError('payloadTooLarge'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () =>
    new ApiError('invalidRequest', { message: 'The request body is empty. Send a JSON object.' }),
  FST_ERR_CTP_INVALID_JSON_BODY: () =>
    new ApiError('invalidRequest', { message: 'The request body is not valid JSON.' }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new ApiError('invalidRequest', { message: 'The length of the body does not match `Content-Length`.' }),
};

const parts: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' };

function fromValidation(error: FastifyError): ApiError {
  const details = validationDetails(error.validation ?? []);
  const [first] = details;
  if (first === undefined)
    return new ApiError('invalidRequest', { message: 'The request is not valid.', details });
  const context = error.validationContext ?? 'request';
  const part = parts[context] ?? context;
  if (first.path === '/')
    return new ApiError('invalidRequest', { message: `The ${part} ${first.message}.`, details });
  const param = first.path.replace(/^\//, '').replaceAll('/', '.');
  return new ApiError('invalidRequest', {
    message: `In the ${part}, \`${param}\` ${first.message}.`,
    param,
    details,
  });
}

/** Maps anything thrown to an error in the table. Unknown errors become `internalError`. Contract section 6. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const error = thrown as FastifyError;
  if (error.validation) return fromValidation(error);
  const known = fastifyErrors[error.code];
  if (known) return known();
  if (isUnavailable(error)) return new ApiError('serviceUnavailable', { cause: error });
  if (error.statusCode === 400) return new ApiError('invalidRequest', { cause: error });
  return new ApiError('internalError', { cause: error });
}
