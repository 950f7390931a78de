import { ParleyError } from '../../sdk/index.ts';
import { apiErrors, type TextKey, t } from '../texts/language.ts';

export { ParleyError as Problem };

/**
 * Rewords an SDK error for people. An abort is returned unchanged.
 *
 * @param lost - the message if there is no response although the device is online
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

/** The text for the reason of an error, if there is one. */
function textOfReason(reason: string | null): string | undefined {
  const key = `errors.reasons.${reason}` as Extract<TextKey, `errors.reasons.${string}`>;
  return t.has(key) ? t(key) : undefined;
}

/** The API writes English for programs: the texts have sentences for the reasons and codes that they know. */
export const messageOf = ({ code, message, param, reason }: ParleyError): string =>
  textOfReason(reason) ?? apiErrors[`${code}.${param}`] ?? apiErrors[code] ?? message;

/** Whether the user can fix it in the form. The request ID is then of no use. */
export const isOfForm = ({ code }: ParleyError): boolean =>
  code === 'invalidRequest' || code === 'invalidLogin';

/**
 * Whether the request stays charged, so a retry with the same idempotency key would get the same error. If the service
 * itself failed, the same key runs the work again. An error in a stream has no status.
 */
export const isFinal = ({ code, isCharged, status }: ParleyError): boolean =>
  isCharged && code !== 'serviceUnavailable' && (code !== 'internalError' || status >= 500);

/** The codes of an ended session. The second one comes from routes that also accept API keys. */
const ends = new Set(['sessionRequired', 'missingCredentials']);

export const isEndOfSession = ({ code }: ParleyError): boolean => ends.has(code);

export function toProblem(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  return new ParleyError({
    code: 'unreadableAnswer',
    message: t('errors.ofPage'),
  });
}
