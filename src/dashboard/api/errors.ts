/** What went wrong, as people are told: the service's envelope, or that there was no answer. */
import { ParleyError } from '../../sdk/index.ts';

export { ParleyError as Problem };

/**
 * What the SDK threw, with a sentence for whoever looks at the page; an abort stays what it is.
 *
 * @param lost - said where there was no answer though this device is online
 */
export function inWords(error: unknown, lost?: string): unknown {
  if (!(error instanceof ParleyError)) return error;
  if (error.code === 'connectionFailed') return unreachable(lost);
  if (error.code !== 'unreadableAnswer') return error;
  const { requestId, status } = error;
  return new ParleyError({
    code: 'unreadableAnswer',
    message: `A proxy or firewall returned an unexpected response (${status}). Try again in a moment.`,
    status,
    envelope: requestId === null ? {} : { request_id: requestId },
  });
}

/** @param message - said where this device is online */
export function unreachable(message = 'The service cannot be reached right now. Try again in a moment.') {
  return new ParleyError({
    code: 'connectionFailed',
    message: navigator.onLine ? message : 'You are offline. Connect to a network, then try again.',
  });
}

/** Whether it is for whoever filled in the form to mend: no operator is asked, so no request id is needed. */
export const isOfForm = ({ code }: ParleyError): boolean =>
  code === 'invalidRequest' || code === 'invalidLogin';

/**
 * Whether it is the outcome of a request that stays charged: sent again with its idempotency key, it would get the same error.
 * Where the service itself failed, the same key runs the work again, and a stream tells no status.
 */
export const isFinal = ({ code, isCharged, status }: ParleyError): boolean =>
  isCharged && code !== 'serviceUnavailable' && (code !== 'internalError' || status >= 500);

/** Whatever was thrown, as a problem. */
export function toProblem(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  return new ParleyError({
    code: 'unreadableAnswer',
    message: 'Something went wrong in this page. Reload it and try again.',
  });
}
