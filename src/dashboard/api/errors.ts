import { ParleyError } from '../../sdk/index.ts';
import { apiErrors, type TextKey, t } from '../texts/language.ts';

export { ParleyError as Problem };

/**
 * Rewords an SDK error for people. Returns an abort unchanged.
 *
 * @param lost - the message if the request fails without a response although the device is online
 */
export function inWords(error: unknown, lost?: string): unknown {
  if (!(error instanceof ParleyError)) return error;
  if (error.code === 'connectionFailed') return unreachable(lost);
  if (error.code !== 'unreadableAnswer') return error;
  const { requestId, status } = error;
  return new ParleyError({
    code: 'unreadableAnswer',
    message: t('errors.unreadable', { status: String(status) }),
    status,
    envelope: requestId === null ? {} : { request_id: requestId },
  });
}

export function unreachable(message = t('errors.unreachable')) {
  return new ParleyError({
    code: 'connectionFailed',
    message: navigator.onLine ? message : t('errors.offline'),
  });
}

/** The text for the reason of an error. Undefined if there is none. */
function textOfReason(reason: string | null): string | undefined {
  const key = `errors.reasons.${reason}` as Extract<TextKey, `errors.reasons.${string}`>;
  return t.has(key) ? t(key) : undefined;
}

/** The API's messages are in English and for programs. The texts replace them for known reasons and codes. */
export const messageOf = ({ code, message, param, reason }: ParleyError): string =>
  textOfReason(reason) ?? apiErrors[`${code}.${param}`] ?? apiErrors[code] ?? message;

/** Whether the user can fix the error in the form. If so, the request ID is of no use. */
export const isOfForm = ({ code }: ParleyError): boolean =>
  code === 'invalidRequest' || code === 'invalidLogin';

/**
 * Whether the request remains charged, so that a retry with the same idempotency key gets the same error. If the
 * service itself failed, the same key runs the work again. An error within a stream has no status.
 */
export const isFinal = ({ code, isCharged, status }: ParleyError): boolean =>
  isCharged && code !== 'serviceUnavailable' && (code !== 'internalError' || status >= 500);

/** The codes of an ended session. Routes that also accept API keys return the second one. */
const ends = new Set(['sessionRequired', 'missingCredentials']);

export const isEndOfSession = ({ code }: ParleyError): boolean => ends.has(code);

export function toProblem(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  return new ParleyError({
    code: 'unreadableAnswer',
    message: t('errors.ofPage'),
  });
}
