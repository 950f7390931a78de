/** Signatures of Standard Webhooks 1.0: https://github.com/standard-webhooks/standard-webhooks */
import { createHmac, randomBytes } from 'node:crypto';

/** The specification allows 24 to 64 bytes. */
const SECRET_BYTES = 32;

export const newSecret = (): Buffer => randomBytes(SECRET_BYTES);

/** The secret in the format that receivers store. */
export const shownSecret = (secret: Buffer): string => `whsec_${secret.toString('base64')}`;

/**
 * The headers of one attempt. Several signatures let receivers replace a secret without a gap.
 *
 * @param id - the same in every attempt, so that receivers can drop duplicates
 * @param seconds - the time of the attempt, since 1970
 */
export function signedHeaders(
  secrets: readonly Buffer[],
  id: string,
  seconds: number,
  body: string,
): Record<string, string> {
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
}
