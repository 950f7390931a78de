/**
 * Turns the bytes of a body into a value that the rest of the service can hold: valid UTF-8, no NUL, no lone surrogate, no
 * `__proto__`. Postgres would answer the former with an error of its own. Contract section 6, reliability tests 41 to 43.
 */
import { parse } from 'secure-json-parse';

/** A body that is refused; the message is for the client. */
export class BodyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BodyError';
  }
}

/** Only an escape can bring these into valid UTF-8, so most bodies need one search of their text. */
const couldHoldForbiddenText = /\\u(?:0000|[dD][89a-fA-F])/;

const isForbidden = (text: string) => text.includes('\u0000') || !text.isWellFormed();

function holdsForbiddenText(value: unknown): boolean {
  if (typeof value === 'string') return isForbidden(value);
  if (Array.isArray(value)) return value.some(holdsForbiddenText);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, member]) => isForbidden(name) || holdsForbiddenText(member));
}

/**
 * Parses a body that was scanned.
 *
 * @param bytes - valid UTF-8
 * @throws BodyError for what is not JSON, and for JSON that cannot be stored
 */
export function parseScanned(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    // 'error': a body with __proto__ or constructor.prototype is refused, not cleaned.
    value = parse(text, { protoAction: 'error', constructorAction: 'error' });
  } catch {
    throw new BodyError('The request body is not valid JSON.');
  }
  if (couldHoldForbiddenText.test(text) && holdsForbiddenText(value))
    throw new BodyError('The request body contains a NUL character or an unpaired surrogate.');
  return value;
}
